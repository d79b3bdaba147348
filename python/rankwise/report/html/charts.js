// Columns of messages or bytes by size, and below them how fast those went whose time is known: logarithmic.
function drawSizes(holder, sizes, { labels, channels }) {
    const left = 78, bottom = 24, wide = width => (width - left) / labels.length
    const total = column => labels.map((_, at) => sum(column.map(each => each[at])))
    const axis = (context, width, height) => {
        const every = Math.ceil(64 / wide(width))
        labels.forEach((label, at) => at % every == 0 && centred(context, label, left + (at + 0.5) * wide(width), height - 9, width))
    }
    const bucket = (x, width) => Math.floor((x - left) / wide(width))
    const shares = { messages: countText, bytes: bytesText }
    const panel = element("div")
    let shown = "messages", drawn = null
    holder.append(tabs("what is drawn", Object.keys(shares), at => {
        shown = Object.keys(shares)[at]
        drawn?.draw()
    }, panel), panel)
    const sized = at => {
        const there = channels.flatMap(({ name }, channel) => sizes.messages[channel][at]
            ? [`${name}: ${countText(sizes.messages[channel][at])} messages, ${bytesText(sizes.bytes[channel][at])}`] : [])
        return [`up to ${labels[at]}`, ...there].join("\n")
    }
    drawn = picture(panel, "messages by size", () => 180, (context, width, height) => {
        const ink = context.fillStyle, highest = most(total(sizes[shown])) || 1, tall = height - bottom - 8
        context.textBaseline = "middle"
        context.textAlign = "right"
        for (const part of [0, 0.5, 1]) context.fillText(shares[shown](Math.round(highest * part)), left - 8, 8 + tall * (1 - part))
        labels.forEach((_, at) => {
            let below = 0
            channels.forEach(({ colour }, channel) => {
                const high = sizes[shown][channel][at] / highest * tall
                context.fillStyle = colour
                context.fillRect(left + at * wide(width) + 1, 8 + tall - below - high, Math.max(wide(width) - 2, 1), high)
                below += high
            })
        })
        context.fillStyle = ink
        axis(context, width, height)
    }, (x, y, width) => {
        const at = bucket(x, width)
        return labels[at] ? sized(at) : ""
    }, width => [wide(width), 0], () => [labels.length, sized])
    if (sizes.not_timed) return
    const rate = (channel, at) => sizes.bandwidth[channel][at] ?? 0
    const rates = channels.map((_, channel) => labels.map((_, at) => rate(channel, at)))
    const known = rates.flat().filter(each => each > 0)
    if (!known.length) return
    const low = Math.floor(Math.log10(known.reduce((a, b) => Math.min(a, b)))), high = Math.max(Math.ceil(Math.log10(most(known))), low + 1)
    holder.append(element("h3", { text: "Bandwidth reached" }))
    const reached = at => {
        const there = channels.flatMap(({ name }, channel) => rates[channel][at]
            ? [`${name}: ${sizes.together[channel][at] ? "at least " : ""}${bytesText(rates[channel][at])}/s, ${named(sizes.timed[channel][at], "message")}`] : [])
        return [`up to ${labels[at]}`, ...(there.length ? there : ["no times"])].join("\n")
    }
    picture(holder, "bandwidth by size", () => 200, (context, width, height) => {
        const ink = context.fillStyle, tall = height - bottom - 16
        const place = value => 8 + tall * (1 - (Math.log10(value) - low) / (high - low))
        context.textBaseline = "middle"
        context.textAlign = "right"
        context.strokeStyle = isDark() ? "#ffffff33" : "#00000022"
        for (let power = low; power <= high; power += 1) {
            context.fillText(`${bytesText(10 ** power)}/s`, left - 8, place(10 ** power))
            context.beginPath()
            context.moveTo(left, place(10 ** power))
            context.lineTo(width, place(10 ** power))
            context.stroke()
        }
        channels.forEach(({ colour }, channel) => {
            context.strokeStyle = context.fillStyle = colour
            context.lineWidth = 2
            context.beginPath()
            rates[channel].forEach((value, at) => {
                if (!value) return
                const x = left + (at + 0.5) * wide(width)
                rates[channel][at - 1] ? context.lineTo(x, place(value)) : context.moveTo(x, place(value))
                context.fillRect(x - 4, place(value) - 4, 8, 8)
            })
            context.stroke()
        })
        context.fillStyle = ink
        axis(context, width, height)
    }, (x, y, width) => {
        const at = bucket(x, width)
        return labels[at] ? reached(at) : ""
    }, width => [wide(width), 0], () => [labels.length, reached])
}

function secondsAxis(context, left, width, height, end) {
    context.textBaseline = "middle"
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
        context.textAlign = part < 1 ? "center" : "right"
        context.fillText(secondsText(end * part), left + part * (width - left), height - 9)
    }
}

// A row for each rank, or for several, with the colour of what it did most in each piece of its time; the axis may be longer.
function drawRows(holder, label, { rows, ranks_per_row: unit, end_s: own }, end, ranks, states) {
    const left = 70, bottom = 22, pieces = rows[0].length
    const high = Math.max(1, Math.min(18, Math.floor(360 / rows.length)))
    const room = width => (width - left) * own / end
    const who = row => {
        const last = Math.min((row + 1) * unit, ranks) - 1
        return last > row * unit ? `ranks ${row * unit}-${last}` : `rank ${row}`
    }
    return picture(holder, label, () => rows.length * high + bottom, (context, width, height) => {
        const ratio = context.getTransform().a, across = Math.max(Math.round(room(width) * ratio), 1), down = Math.round(rows.length * high * ratio)
        const colours = new Map(states.map(({ letter, colour }) => [letter, 0xff000000 | [5, 3, 1].reduce((word, digit) => word << 8 | parseInt(colour.slice(digit, digit + 2), 16), 0)]))
        const image = context.createImageData(across, down), raster = new Uint32Array(image.data.buffer)
        for (let y = 0; y < down; y += 1) {
            const row = rows[Math.min(Math.floor(y / high / ratio), rows.length - 1)]
            for (let x = 0; x < across; x += 1) raster[y * across + x] = colours.get(row[Math.floor(x * pieces / across)]) ?? 0
        }
        context.putImageData(image, left * ratio, 0)
        context.textBaseline = "middle"
        context.textAlign = "right"
        for (const tick of ticks(0, rows.length - 1, rows.length * high, 18)) context.fillText(`${unit > 1 ? "" : "rank "}${tick * unit}`, left - 8, Math.max((tick + 0.5) * high, 7))
        secondsAxis(context, left, width, height, end)
    }, (x, y, width) => {
        const at = Math.floor((x - left) / room(width) * pieces), row = Math.floor(y / high)
        if (at < 0 || x > width || !rows[row]) return ""
        const when = `${secondsText(at * own / pieces)} to ${secondsText((at + 1) * own / pieces)}`
        return `${who(row)}, ${when}: ${states.find(({ letter }) => letter == rows[row][at])?.name ?? "not in the run"}`
    }, width => [room(width) / pieces, high], () => [rows.length, at => {
        const most = states.map(({ letter, name }) => [rows[at].split(letter).length - 1, name]).filter(([count]) => count)
        return `${who(at)}: ${most.map(([count, name]) => `${name} most in ${percentText(count / pieces)} of the time`).join(", ")}`
    }])
}

// What ranks did when: shares of all of them, a row for each rank, and how long each iteration took, on one axis.
function drawPhases(holder, { over_time: over, program }, states) {
    const left = 70, pieces = over.computation.length, bottom = 22
    const room = width => width - left
    const seconds = (context, width, height) => secondsAxis(context, left, width, height, over.end_s)
    const piece = (x, width) => Math.floor((x - left) / room(width) * pieces)
    const when = at => `${secondsText(at * over.end_s / pieces)} to ${secondsText((at + 1) * over.end_s / pieces)}`
    const edge = (at, width) => left + Math.round(at * room(width) / pieces)
    const title = text => holder.append(element("h3", { text }))
    const doing = at => [when(at), ...states.map(({ key, name }) => `${name} ${percentText(over[key][at])}`)].join("\n")
    title("All ranks")
    picture(holder, "what all ranks did over time", () => 150, (context, width, height) => {
        const ink = context.fillStyle, tall = height - bottom - 8
        context.textBaseline = "middle"
        context.textAlign = "right"
        for (const part of [0, 0.5, 1]) context.fillText(`${100 * part} %`, left - 8, 8 + tall * (1 - part))
        for (let at = 0; at < pieces; at += 1) {
            let below = 0
            for (const { key, colour } of states) {
                context.fillStyle = colour
                context.fillRect(edge(at, width), 8 + tall * (1 - below - over[key][at]), edge(at + 1, width) - edge(at, width), tall * over[key][at])
                below += over[key][at]
            }
        }
        context.fillStyle = ink
        seconds(context, width, height)
    }, (x, y, width) => {
        const at = piece(x, width)
        return at < 0 || at >= pieces ? "" : doing(at)
    }, width => [room(width) / pieces, 0], () => [pieces, doing])
    const { ranks_per_row: unit, iterations } = over
    title(unit > 1 ? `Each ${unit} ranks, what they did most` : "Each rank, what it did most")
    drawRows(holder, "what each rank did over time", over, over.end_s, program.world_size, states)
    if (!iterations) return
    const { distances, lengths, joined, mean_s, most_s } = iterations, highest = most(most_s) || 1, tick_s = over.end_s / 1e7
    const begin_s = places(distances).map(each => each * tick_s), end_s = lengths.map((each, at) => begin_s[at] + each * tick_s)
    title(`Time of each iteration, rank ${iterations.rank}`)
    const lasted = at => `from ${secondsText(begin_s[at])}: ${secondsText(mean_s[at])}` + (joined[at] > 1 ? `, the mean of ${joined[at]}; at most ${secondsText(most_s[at])}` : "")
    picture(holder, "time of each iteration", () => 130, (context, width, height) => {
        const ink = context.fillStyle, tall = height - bottom - 8
        context.textBaseline = "middle"
        context.textAlign = "right"
        for (const part of [0, 0.5, 1]) context.fillText(secondsText(highest * part), left - 8, 8 + tall * (1 - part))
        begin_s.forEach((begin, at) => {
            const x = left + begin / over.end_s * room(width), wide = Math.max((end_s[at] - begin) / over.end_s * room(width) - 1, 1)
            context.globalAlpha = 0.45
            context.fillStyle = states[0].colour
            context.fillRect(x, 8 + tall * (1 - most_s[at] / highest), wide, tall * most_s[at] / highest)
            context.globalAlpha = 1
            context.fillRect(x, 8 + tall * (1 - mean_s[at] / highest), wide, tall * mean_s[at] / highest)
        })
        context.fillStyle = ink
        seconds(context, width, height)
    }, (x, y, width) => {
        const time = (x - left) / room(width) * over.end_s
        const at = begin_s.findLastIndex(begin => begin <= time)
        if (at < 0 || time > end_s[at]) return ""
        return lasted(at)
    }, width => [room(width) / begin_s.length, 0], () => [begin_s.length, lasted])
}
