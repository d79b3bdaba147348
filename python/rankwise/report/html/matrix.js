const VIRIDIS = ["#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"]
const SHADES = Array.from({ length: 256 }, (_, at) => {
    const place = at / 255 * (VIRIDIS.length - 1), low = Math.min(Math.floor(place), VIRIDIS.length - 2)
    const [from, to] = [VIRIDIS[low], VIRIDIS[low + 1]].map(each => [1, 3, 5].map(digit => parseInt(each.slice(digit, digit + 2), 16)))
    return from.map((each, channel) => Math.round(each + (to[channel] - each) * (place - low)))
})

// Of differences: what there is more of in orange, what there is less of in blue.
const between = (from, to) => Array.from({ length: 256 }, (_, at) => from.map((each, channel) => Math.round(each + (to[channel] - each) * at / 255)))
const differences = () => isDark() ? [between([84, 66, 34], [255, 178, 64]), between([34, 66, 92], [102, 194, 255])]
    : [between([250, 227, 196], [176, 84, 0]), between([205, 227, 243], [0, 82, 142])]

// A square of pairs: colour is the logarithm of the value. A pixel of several pairs has the colour of the most.
// `view` gives what is drawn for what is chosen of the switches: `rows`, `columns` and `values` of the pairs, their `text`,
// `tip` of a pair, `name` of a row, `lines` before which rows, a `note`, and whether they are differences: `signed`.
function matrix(holder, size, { label, view, switches = [], widest = 660 }) {
    const chosen = switches.map(() => 0), note = element("p", { class: "soft" }), panel = element("div")
    let shown, cells, drawn = null, from = [0, 0], side = size
    const left = 46, top = 22, bottom = 40
    // Fields of few ranks are no larger than needed.
    const edge = width => Math.min(width - left - 4, widest, Math.max(size * 60, 240))
    const take = () => {
        shown = view(chosen)
        cells = new Map(shown.rows.map((row, at) => [row * size + shown.columns[at], at]))
        note.textContent = shown.note ?? ""
        note.hidden = !shown.note
        drawn?.draw()
    }
    const paint = (context, width) => {
        const room = Math.floor(edge(width)), cell = room / side, ink = context.fillStyle
        const { rows, columns, values, text, name, signed, lines = [] } = shown
        const known = values.filter(each => each).map(Math.abs)
        const low = Math.log(known.length ? known.reduce((a, b) => Math.min(a, b)) : 1), high = Math.log(most(known) || 1)
        const shade = value => high > low ? Math.round(255 * (Math.log(Math.abs(value)) - low) / (high - low)) : 255
        const [up, down] = signed ? differences() : [SHADES, []]
        const ratio = context.getTransform().a, pixels = Math.round(room * ratio)
        const image = context.createImageData(pixels, pixels), best = new Int16Array(pixels * pixels).fill(-1)
        const wide = Math.max(pixels / side, 1)
        for (let at = 0; at < values.length; at += 1) {
            const y = (rows[at] - from[0]) * pixels / side, x = (columns[at] - from[1]) * pixels / side
            if (!values[at] || y + wide <= 0 || x + wide <= 0 || y >= pixels || x >= pixels) continue
            // Twice the shade, and one more for less: of several the strongest.
            const colour = 2 * shade(values[at]) + (values[at] < 0)
            for (let row = Math.max(Math.floor(y), 0); row < Math.min(Math.ceil(y + wide), pixels); row += 1)
                for (let place = Math.max(Math.floor(x), 0); place < Math.min(Math.ceil(x + wide), pixels); place += 1)
                    if (colour > best[row * pixels + place]) best[row * pixels + place] = colour
        }
        const shades = up.flatMap((each, at) => [each, down[at] ?? each])
        const words = [isDark() ? [34, 41, 47] : [238, 241, 243], ...shades].map(([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0)
        const raster = new Uint32Array(image.data.buffer)
        for (let at = 0; at < best.length; at += 1) raster[at] = words[best[at] + 1]
        context.putImageData(image, left * ratio, top * ratio)
        context.textBaseline = "middle"
        for (const tick of ticks(0, side - 1, room, 56)) {
            const place = (tick + 0.5) * cell
            context.textAlign = "right"
            context.fillText(name(from[0] + tick, true), left - 5, top + place)
            if (tick < side - 1 || tick == 0 || cell > 30) centred(context, name(from[1] + tick, true), left + place, top - 10, width)
        }
        // The closer lines are, the fainter; they say nothing where they leave no room for what is between them.
        const apart = room * size / side / (lines.length + 1)
        context.strokeStyle = (isDark() ? "#ffffff" : "#000000") + (apart < 24 ? "28" : "60")
        for (const axis of apart > 4 ? [0, 1] : [])
            for (const line of lines) {
                const place = (line - from[axis]) * cell
                if (place <= 0 || place >= room) continue
                context.beginPath()
                axis ? (context.moveTo(left + place, top), context.lineTo(left + place, top + room))
                    : (context.moveTo(left, top + place), context.lineTo(left + room, top + place))
                context.stroke()
            }
        const ranges = signed || high > low, scale = ranges ? Math.min(room - 140, 200) : -76
        for (let at = 0; at < scale && known.length; at += 1) {
            const place = Math.round(255 * at / scale)
            const ends = signed && (place < 128 ? down[255 - 2 * place] : up[2 * place - 255])
            context.fillStyle = `rgb(${signed ? ends : up[place]})`
            context.fillRect(left + 70 + at, top + room + 14, 1.5, 10)
        }
        context.fillStyle = ink
        context.textAlign = "right"
        context.fillText(!known.length || !ranges ? "" : signed ? `-${text(Math.exp(high))}` : text(Math.exp(low)), left + 64, top + room + 20)
        context.textAlign = "left"
        context.fillText(known.length ? `${ranges ? "" : "each "}${signed ? "+" : ""}${text(Math.exp(high))}` : "nothing", left + 76 + scale, top + room + 20)
    }
    const pair = (x, y, width) => {
        const cell = edge(width) / side
        const place = [Math.floor((y - top) / cell), Math.floor((x - left) / cell)]
        return place.every(each => each >= 0 && each < side) ? place.map((each, axis) => each + from[axis]) : null
    }
    const at = (x, y, width) => {
        const place = pair(x, y, width)
        if (!place) return ""
        const cell = cells.get(place[0] * size + place[1])
        return shown.title(shown.name(place[0]), shown.name(place[1])) + (cell === undefined ? "nothing" : shown.tip(cell))
    }
    const zoom = (by, middle) => {
        const centre = middle ?? from.map(each => each + side / 2)
        side = Math.max(Math.min(Math.round(side * by), size), Math.min(8, size))
        from = centre.map(each => Math.min(Math.max(Math.round(each - side / 2), 0), size - side))
        drawn.draw()
    }
    take()
    switches.forEach(({ label, names }, which) => {
        if (names.length > 1) holder.append(tabs(label, names, at => {
            chosen[which] = at
            if (drawn) take()
        }, panel))
    })
    const bar = element("div", { class: "tabs" })
    if (size > 8)
        for (const [text, by] of [["zoom in", 0.5], ["zoom out", 2], ["whole", Infinity]]) {
            const button = element("button", { type: "button", text })
            button.addEventListener("click", () => zoom(by))
            bar.append(button)
        }
    holder.append(bar)
    const told = () => shown.values.map((value, cell) => [value, cell]).filter(([value]) => value).sort((a, b) => b[0] - a[0])
        .map(([, cell]) => shown.title(shown.name(shown.rows[cell]), shown.name(shown.columns[cell])) + shown.tip(cell))
    holder.append(panel)
    drawn = picture(panel, label, width => edge(width) + top + bottom, paint, at, width => [edge(width) / side, edge(width) / side], told)
    drawn.canvas.addEventListener("dblclick", event => zoom(0.5, pair(event.offsetX, event.offsetY, drawn.canvas.clientWidth)))
    drawn.canvas.addEventListener("keydown", event => {
        const by = { "+": 0.5, "-": 2, 0: Infinity }[event.key]
        if (by) zoom(by)
    })
    holder.append(note)
}

// Orders of rows: by number, and by node under each placement, where groups are single ranks. Each has what is in a row,
// the row of each, and where a node ends.
function orders({ program, ranks, map }, unit, groups) {
    const name = (at, short) => {
        const first = at * unit, last = Math.min(first + unit, program.world_size) - 1
        return short ? `${first}` : first == last ? `rank ${first}` : `ranks ${first}-${last}`
    }
    const host = new Map(ranks.rank.map((rank, at) => [rank, ranks.host[at]]))
    const changes = unit > 1 ? [] : ranks.rank.filter(rank => rank > 0 && host.get(rank) != host.get(rank - 1))
    const found = [{ title: "by rank", name, row: at => at, lines: changes.length < groups / 2 ? changes : [] }]
    for (const placed of unit > 1 ? [] : map.placed) {
        const core = (node, at) => node.cores[at][0] ?? -1
        const order = placed.nodes.flatMap(node => node.ranks.map((rank, at) => [rank, core(node, at)]).sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([rank]) => rank))
        const row = new Map(order.map((rank, at) => [rank, at]))
        let end = 0
        const lines = placed.nodes.map(node => end += node.ranks.length).slice(0, -1)
        found.push({ title: `by node and core, ${placed.name}`, name: (at, short) => name(order[at] ?? at, short), row: at => row.get(at) ?? at, lines })
    }
    return found
}

// From how far each is from the one before.
function places(distances) {
    let at = 0
    return distances.map(each => at += each)
}
function ends({ cells, groups }) {
    const cell = places(cells)
    return [cell.map(each => Math.floor(each / groups)), cell.map(each => each % groups)]
}

function drawMatrix(holder, report) {
    const { groups, ranks_per_group: unit } = report.matrix, [source, destination] = ends(report.matrix)
    const parts = report.parts.map(part => ({ ...part, pairs: places(part.pairs) })), ways = orders(report, unit, groups)
    const every = source.map((_, at) => at)
    const timed = parts.find(part => part.time_s)
    const whole = { name: "all", pairs: every, messages: report.matrix.messages, bytes: report.matrix.bytes, time_s: null }
    const shares = [whole, ...parts.filter(part => !(part.kind == "point-to-point" && part.pairs.length == every.length && parts.length == 1))]
    const messages = each => `${countText(each)} message${each == 1 ? "" : "s"}`
    const kinds = [["bytes", "bytes", bytesText], ["messages", "messages", countText], ...(timed ? [["time", "time_s", secondsText]] : [])]
    const view = ([what, which, how]) => {
        const [, column, text] = kinds[what], way = ways[how]
        // Only point-to-point messages have times.
        const part = column == "time_s" && which == 0 ? timed : shares[which]
        const rows = part.pairs.map(pair => way.row(source[pair])), columns = part.pairs.map(pair => way.row(destination[pair]))
        return {
            rows, columns, values: part[column] ?? part.pairs.map(() => 0), text, name: way.name, lines: way.lines,
            title: (from, to) => `${from} to ${to}: `,
            tip: at => [bytesText(part.bytes[at]), messages(part.messages[at]), ...(part.time_s?.[at] ? [secondsText(part.time_s[at])] : [])].join(", "),
            note: column != "time_s" ? "" : part.time_s ? "Time of point-to-point messages: from when both sides had begun until the receive ended."
                : `The time of ${part.name == "collective" ? "messages inside collectives" : "this part alone"} is not known.`,
        }
    }
    matrix(holder, groups, {
        label: "messages between ranks", view,
        switches: [
            { label: "what is drawn", names: kinds.map(([name]) => name) },
            { label: "of which messages", names: shares.map(part => part.name) },
            { label: "order of ranks", names: ways.map(way => way.title) },
        ],
    })
}

function drawWaits(holder, report) {
    const { waited_s, calls, groups, ranks_per_group: unit } = report.pair_waits, [waiting, late] = ends(report.pair_waits)
    const ways = orders(report, unit, groups)
    matrix(holder, groups, {
        label: "who waits for whom",
        view: ([how]) => ({
            rows: waiting.map(ways[how].row), columns: late.map(ways[how].row), values: waited_s, text: secondsText,
            name: ways[how].name, lines: ways[how].lines, title: (one, other) => `${one} for ${other}: `,
            tip: at => `${secondsText(waited_s[at])} in ${named(calls[at], "call")}`,
        }),
        switches: [{ label: "order of ranks", names: ways.map(way => way.title) }],
    })
}
