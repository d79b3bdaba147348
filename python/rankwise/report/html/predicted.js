document.addEventListener("numbers", ({ detail: { predicted, program } }) => {
    const holder = document.getElementById("predicted-picture")
    if (!holder) return
    const { states, placements, end_s: end } = predicted
    const left = 62, bottom = 22
    const high = rows => Math.max(Math.min(Math.floor(320 / rows), 18), 1)
    const shown = element("div")
    const name = (row, per, ranks) => per == 1 ? `rank ${row}` : `ranks ${row * per}-${Math.min((row + 1) * per, ranks) - 1}`
    const show = at => {
        const { rows, ranks_per_row: per, end_s: own } = placements[at]
        const pieces = rows[0].length, tall = rows.length * high(rows.length)
        const raster = element("canvas", { width: pieces, height: rows.length })
        const pencil = raster.getContext("2d")
        rows.forEach((row, place) => {
            for (let from = 0, to = 0; from < pieces; from = to) {
                while (to < pieces && row[to] == row[from]) to += 1
                if (!states[row[from]].colour) continue
                pencil.fillStyle = states[row[from]].colour
                pencil.fillRect(from, place, to - from, 1)
            }
        })
        const room = width => (width - left) * own / end
        const paint = (context, width, height) => {
            context.imageSmoothingEnabled = false
            context.drawImage(raster, left, 0, room(width), tall)
            context.textBaseline = "middle"
            context.textAlign = "right"
            for (const tick of ticks(0, rows.length - 1, tall, 24))
                context.fillText(`${tick * per}`, left - 6, (tick + 0.5) * high(rows.length))
            context.textAlign = "center"
            for (const part of [0, 0.25, 0.5, 0.75, 1])
                context.fillText(secondsText(end * part), Math.min(left + part * (width - left), width - 24), height - 9)
        }
        const tell = (x, y, width) => {
            const row = Math.floor(y / high(rows.length)), piece = Math.floor((x - left) / room(width) * pieces)
            if (row < 0 || row >= rows.length || piece < 0 || x > width) return ""
            return `${name(row, per, program.world_size)}, ${secondsText((x - left) / (width - left) * end)}: ${states[rows[row][piece] ?? "."].name}`
        }
        shown.replaceChildren()
        picture(shown, `predicted timeline, ${placements[at].name}`, () => tall + bottom, paint, tell,
            width => [room(width) / Math.min(pieces, 100), high(rows.length)])
    }
    holder.append(tabs("placement", placements.map(each => `${each.name}, ${secondsText(each.end_s)}`), show), shown)
})
