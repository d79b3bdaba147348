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
// `tip` of a pair and the `title` before it, made of two names, `name` of a row, `lines` before which rows, a `note`, and
// whether they are differences: `signed`. Also the `size` where that is another one; the `range` of values that colours are
// for, where that is not theirs; what is `inside` a pair: switches to `turn`, and then the window's first row and column,
// `from`, its `side`, and how many rows and columns are of the pair, `counts`; and the switch that is turned to get
// `outside` again.
function matrix(holder, largest, { label, view, switches = [], widest = 660 }) {
    const chosen = switches.map(() => 0), note = element("p", { class: "soft" }), panel = element("div"), lists = []
    let size = largest, shown, cells, drawn = null, from = [0, 0], side = size, only = null
    const left = 46, top = 22, bottom = 40
    const bar = element("div", { class: "tabs" }), back = element("button", { type: "button", text: "back to nodes" })
    // Fields of few ranks are no larger than needed.
    const edge = width => Math.min(width - left - 4, widest, Math.max(size * 60, 240))
    const take = () => {
        shown = view(chosen)
        if ((shown.size ?? largest) != size) [size, from, side, only] = [shown.size ?? largest, [0, 0], shown.size ?? largest, null]
        back.hidden = !shown.outside
        bar.hidden = size <= 8 && !shown.outside
        panel.style.cursor = shown.inside ? "pointer" : ""
        cells = new Map(shown.rows.map((row, at) => [row * size + shown.columns[at], at]))
        note.textContent = shown.note ?? ""
        note.hidden = !shown.note
        drawn?.draw()
        drawn?.retell()
    }
    const paint = (context, width) => {
        const room = Math.floor(edge(width)), cell = room / side, ink = context.fillStyle
        // A finger moves what is zoomed, and else the page.
        context.canvas.style.touchAction = side < size ? "none" : ""
        const { rows, columns, values, text, name, signed, lines = [] } = shown
        const known = values.filter(each => each).map(Math.abs), [least, highest] = shown.range ?? range(known)
        // What is nearly alike looks so: where the most is less than ten times the least, colours begin at 0.
        const linear = highest < 10 * least
        const low = linear ? 0 : Math.log(least), high = linear ? highest : Math.log(highest)
        const shade = value => Math.min(Math.max(Math.round(255 * ((linear ? Math.abs(value) : Math.log(Math.abs(value))) - low) / (high - low)), 0), 255)
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
        // One value alone has no scale: its text begins at the left edge.
        const ranges = signed || highest > least, scale = ranges ? Math.min(room - 140, 200) : -76
        for (let at = 0; at < scale && known.length; at += 1) {
            const place = Math.round(255 * at / scale)
            const ends = signed && (place < 128 ? down[255 - 2 * place] : up[2 * place - 255])
            context.fillStyle = `rgb(${signed ? ends : up[place]})`
            context.fillRect(left + 70 + at, top + room + 14, 1.5, 10)
        }
        context.fillStyle = ink
        context.textAlign = "right"
        context.fillText(!known.length || !ranges ? "" : signed ? `-${text(highest)}` : linear ? "0" : text(least), left + 64, top + room + 20)
        context.textAlign = "left"
        context.fillText(known.length ? `${ranges ? "" : "each "}${signed ? "+" : ""}${text(highest)}` : "nothing", left + 76 + scale, top + room + 20)
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
    const move = to => {
        const before = `${from}`
        from = to.map(each => Math.min(Math.max(Math.round(each), 0), size - side))
        drawn.draw()
        return `${from}` != before
    }
    // What is at a place stays there.
    const zoom = (by, place) => {
        const { clientWidth: width } = drawn.canvas, [x, y] = place ?? drawn.cursor() ?? [left + edge(width) / 2, top + edge(width) / 2]
        const share = [(y - top) / edge(width), (x - left) / edge(width)].map(each => Math.min(Math.max(each, 0), 1))
        const fixed = share.map((each, axis) => from[axis] + each * side)
        side = Math.max(Math.min(Math.round(side * by), size), Math.min(8, size))
        move(fixed.map((each, axis) => each - share[axis] * side))
        if (only && side == size) {
            only = null
            drawn.retell()
        }
    }
    const turn = ([which, to]) => lists[which]?.children[to].click()
    const open = (x, y, width) => {
        const place = pair(x, y, width), there = place && shown.inside?.(...place)
        if (!there) return
        opened = true
        there.turn.forEach(turn)
        side = Math.min(there.side, size)
        only = there
        move(there.from)
        drawn.retell()
    }
    take()
    switches.forEach(({ label, names }, which) => {
        if (names.length > 1) holder.append(lists[which] = tabs(label, names, at => {
            chosen[which] = at
            if (drawn) take()
        }, panel))
    })
    for (const [text, by] of [["zoom in", 0.5], ["zoom out", 2], ["whole", Infinity]]) {
        const button = element("button", { type: "button", text })
        button.addEventListener("click", () => zoom(by))
        bar.append(button)
    }
    const leave = () => {
        if (!shown.outside) return
        // All nodes, also where these are as many as ranks.
        ;[from, side, only] = [[0, 0], size, null]
        turn(shown.outside)
        drawn.canvas.focus()
    }
    back.addEventListener("click", leave)
    bar.append(back)
    holder.append(bar)
    // The largest first; of differences also what became less by much.
    const told = () => {
        const { rows, columns, values, title, name, tip } = shown, order = []
        // Of what was opened, the text has only that, until other rows are chosen or all of them are shown.
        const part = only?.turn.every(([which, to]) => chosen[which] == to)
        const isOpen = (at, axis) => at >= only.from[axis] && at < only.from[axis] + only.counts[axis]
        for (let cell = 0; cell < values.length; cell += 1)
            if (values[cell] && (!part || isOpen(rows[cell], 0) && isOpen(columns[cell], 1))) order.push(cell)
        order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]))
        return [order.length, at => title(name(rows[order[at]]), name(columns[order[at]])) + tip(order[at])]
    }
    holder.append(panel)
    // A drag moves what is zoomed, and is no click.
    let dragged = null, moved = false, opened = false
    drawn = picture(panel, label, width => edge(width) + top + bottom, paint, at, width => [edge(width) / side, edge(width) / side], told, {
        open: (...place) => moved || open(...place),
        area: width => [left, top, left + edge(width), top + edge(width)],
        beyond: ([right, down]) => move([from[0] + down, from[1] + right]),
    })
    const { canvas } = drawn
    canvas.addEventListener("keydown", () => { moved = false }, true)
    canvas.addEventListener("pointerdown", event => {
        moved = false
        if (event.button != 0) return
        dragged = { x: event.clientX, y: event.clientY, from }
        canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener("pointermove", event => {
        if (!dragged || side >= size) return
        const by = [event.clientY - dragged.y, event.clientX - dragged.x], cell = edge(canvas.clientWidth) / side
        moved ||= Math.hypot(...by) > 4
        if (moved) move(dragged.from.map((each, axis) => each - by[axis] / cell))
    })
    canvas.addEventListener("lostpointercapture", () => { dragged = null })
    // The second click of two zooms, but not into what the first one opened.
    canvas.addEventListener("mousedown", event => { if (event.detail == 1) opened = false })
    canvas.addEventListener("dblclick", event => opened || shown.inside || zoom(0.5, [event.offsetX, event.offsetY]))
    canvas.addEventListener("keydown", event => {
        if (forBrowser(event)) return
        const by = { "+": 0.5, "-": 2, 0: Infinity }[event.key]
        if (by) zoom(by)
        if (event.key == "Backspace") leave()
    })
    holder.append(note)
}

// The least and the most of some values.
function range(values) {
    return [values.length ? values.reduce((a, b) => Math.min(a, b)) : 1, most(values) || 1]
}

// Orders of rows: by number, and by node under each placement. Each has what is in a row, the row of each, where a node
// ends, and the nodes with the rows of each, if these are next to each other. `members` are ranks of groups: a node, a part of one, or some nodes.
function orders({ program, ranks, map }, { groups, ranks_per_group: unit, members = [] }) {
    const host = new Map(ranks.rank.map((rank, at) => [rank, ranks.host[at]]))
    const named = (first, last) => first == last ? `rank ${first}` : `ranks ${first}-${last}`
    if (members.length) {
        const of = members.map(some => host.get(some[0]))
        // Where there are many nodes, a group is some of them.
        const nodes = some => {
            const more = new Set(some.map(rank => host.get(rank))).size - 1, first = program.hosts[host.get(some[0])]
            return more && first ? `${first} and ${more} more` : first
        }
        const who = some => some.at(-1) - some[0] == some.length - 1 ? named(some[0], some.at(-1)) : `${some.length} ranks from ${some[0]}`
        return [{
            title: "by node", name: (at, short) => short ? `${members[at][0]}` : [nodes(members[at]), who(members[at])].filter(each => each).join(", "), row: at => at,
            lines: of.flatMap((each, at) => at && each != of[at - 1] ? [at] : []), nodes: null,
        }]
    }
    const name = (at, short) => {
        const first = at * unit, last = Math.min(first + unit, program.world_size) - 1
        return short ? `${first}` : named(first, last)
    }
    const changes = unit > 1 ? [] : ranks.rank.filter(rank => rank > 0 && host.get(rank) != host.get(rank - 1))
    const begins = [0, ...changes], together = unit == 1 && begins.length > 1 && new Set(begins.map(each => host.get(each))).size == begins.length
    const nodes = begins.map((begin, at) => ({ name: program.hosts[host.get(begin)] ?? "?", begin, count: (begins[at + 1] ?? groups) - begin }))
    const found = [{ title: "by rank", name, row: at => at, lines: changes.length < groups / 2 ? changes : [], nodes: together ? nodes : null }]
    // A map without some nodes has no order of all ranks.
    for (const placed of unit > 1 ? [] : map.placed.filter(({ more }) => !more)) {
        const core = (node, at) => node.cores[at][0] ?? -1
        const order = placed.nodes.flatMap(node => node.ranks.map((rank, at) => [rank, core(node, at)]).sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([rank]) => rank))
        const row = new Map(order.map((rank, at) => [rank, at]))
        let end = 0
        const nodes = placed.nodes.map(({ name, ranks }) => ({ name, begin: (end += ranks.length) - ranks.length, count: ranks.length }))
        const lines = nodes.slice(1).map(({ begin }) => begin)
        found.push({ title: `by node and core, ${placed.name}`, name: (at, short) => name(order[at] ?? at, short), row: at => row.get(at) ?? at, lines, nodes })
    }
    return found
}

// Nodes as rows in place of their ranks, or parts of nodes where these are few and large; none ends but where its node does.
function nodeRows({ nodes, name }, size) {
    const parts = Math.max(Math.floor(64 / nodes.length), 1), found = [], lines = [], of = new Int32Array(size)
    for (const node of nodes) {
        if (node.begin) lines.push(found.length)
        const each = Math.max(Math.ceil(node.count / parts), 1)
        for (let at = 0; at < node.count; at += each) found.push({ node: node.name, begin: node.begin + at, count: Math.min(each, node.count - at), whole: each >= node.count })
    }
    found.forEach(({ begin, count }, at) => of.fill(at, begin, begin + count))
    const told = ({ node, begin, count }) => `${node} (${count == 1 ? name(begin) : `${count} ranks, ${name(begin).replace("rank ", "")} to ${name(begin + count - 1).replace("rank ", "")}`})`
    return { found, lines, of, name: (at, short) => short ? found[at].node.length > 6 || !found[at].whole ? `${at}` : found[at].node : told(found[at]) }
}

// The sums of columns of pairs, by the rows that these are in.
function gathered({ found, of }, rows, columns, lists) {
    const places = new Map(), ends = [[], []], sums = lists.map(() => [])
    for (let at = 0; at < rows.length; at += 1) {
        const pair = [of[rows[at]], of[columns[at]]], key = pair[0] * found.length + pair[1]
        let place = places.get(key)
        if (place === undefined) {
            places.set(key, place = places.size)
            pair.forEach((each, axis) => ends[axis].push(each))
            sums.forEach(each => each.push(0))
        }
        lists.forEach((list, which) => { sums[which][place] += list?.[at] ?? 0 })
    }
    return [...ends, ...sums]
}

// Of many ranks, nodes come first: the report says whether. `names` are those of a switch, which is the one with this
// number, after that of orders.
function levels(ways, { groups, nodes_first: large }, which) {
    const rows = new Map()
    return {
        names: large ? ["nodes", "ranks"] : ["ranks"],
        of(way, level) {
            if (!large || level == 1) return null
            const shown = way.nodes ? way : ways.find(({ nodes }) => nodes)
            if (!rows.has(shown)) rows.set(shown, nodeRows(shown, groups))
            const { found, lines, name } = rows.get(shown)
            return {
                way: shown, rows: rows.get(shown),
                look: {
                    size: found.length, lines, name,
                    inside: (row, column) => ({
                        turn: [[which - 1, ways.indexOf(shown)], [which, 1]], from: [found[row].begin, found[column].begin], side: Math.max(found[row].count, found[column].count, 8),
                        counts: [found[row].count, found[column].count],
                    }),
                },
            }
        },
        outside: large ? [which, 0] : null,
    }
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
    const { groups } = report.matrix, [source, destination] = ends(report.matrix)
    const parts = report.parts.map(part => ({ ...part, pairs: places(part.pairs) })), ways = orders(report, report.matrix)
    const every = source.map((_, at) => at), level = levels(ways, report.matrix, 3)
    const timed = parts.find(part => part.time_s)
    const whole = { name: "all", pairs: every, messages: report.matrix.messages, bytes: report.matrix.bytes, time_s: null }
    const shares = [whole, ...parts.filter(part => !(part.kind == "point-to-point" && part.pairs.length == every.length && parts.length == 1))]
    const messages = each => `${countText(each)} message${each == 1 ? "" : "s"}`
    const kinds = [["bytes", "bytes", bytesText], ["messages", "messages", countText], ...(timed ? [["time", "time_s", secondsText]] : [])]
    const view = ([what, which, how, deep]) => {
        const [, column, text] = kinds[what], nodes = level.of(ways[how], deep), way = nodes?.way ?? ways[how]
        // Only point-to-point messages have times.
        const part = column == "time_s" && which == 0 ? timed : shares[which]
        let rows = part.pairs.map(pair => way.row(source[pair])), columns = part.pairs.map(pair => way.row(destination[pair]))
        let { bytes, messages: counts, time_s } = part
        if (nodes) {
            const found = gathered(nodes.rows, rows, columns, [bytes, counts, time_s])
            ;[rows, columns, bytes, counts] = found
            if (time_s) time_s = found[4]
        }
        return {
            rows, columns, values: { bytes, messages: counts, time_s }[column] ?? rows.map(() => 0), text, name: way.name, lines: way.lines, outside: level.outside,
            title: (from, to) => `${from} to ${to}: `,
            tip: at => [bytesText(bytes[at]), messages(counts[at]), ...(time_s?.[at] ? [secondsText(time_s[at])] : [])].join(", "),
            note: column != "time_s" ? "" : part.time_s ? "Time of point-to-point messages: from when both sides had begun until the receive ended."
                : `The time of ${part.name == "collective" ? "messages inside collectives" : "this part alone"} is not known.`,
            ...(nodes ? { ...nodes.look, outside: null } : {}),
        }
    }
    matrix(holder, groups, {
        label: "messages between ranks", view,
        switches: [
            { label: "what is drawn", names: kinds.map(([name]) => name) },
            { label: "of which messages", names: shares.map(part => part.name) },
            { label: "order of ranks", names: ways.map(way => way.title) },
            { label: "what a row is", names: level.names },
        ],
    })
}

function drawWaits(holder, report) {
    const { waited_s, calls, groups } = report.pair_waits, [waiting, late] = ends(report.pair_waits)
    const ways = orders(report, report.pair_waits), level = levels(ways, report.pair_waits, 1)
    matrix(holder, groups, {
        label: "who waits for whom",
        view: ([how, deep]) => {
            const nodes = level.of(ways[how], deep), way = nodes?.way ?? ways[how]
            const own = [waiting.map(way.row), late.map(way.row), waited_s, calls]
            const [rows, columns, values, counts] = nodes ? gathered(nodes.rows, own[0], own[1], own.slice(2)) : own
            return {
                rows, columns, values, text: secondsText, name: way.name, lines: way.lines, outside: level.outside, title: (one, other) => `${one} for ${other}: `,
                tip: at => `${secondsText(values[at])} in ${named(counts[at], "call")}`,
                ...(nodes ? { ...nodes.look, outside: null } : {}),
            }
        },
        switches: [{ label: "order of ranks", names: ways.map(way => way.title) }, { label: "what a row is", names: level.names }],
    })
}
