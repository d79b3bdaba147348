// Draws what would be too many elements as rasters, from the numbers that the page carries.
"use strict"

const three = value => String(Number(value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)))
function scaled(value, units) {
    let at = 0
    while (value >= 999.5 && at + 1 < units.length) { value /= 1000; at += 1 }
    return `${three(value)} ${units[at]}`.trimEnd()
}
const bytesText = value => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"])
const countText = value => scaled(value, ["", "k", "M", "G", "T"])
const percentText = share => `${(100 * share).toFixed(1)} %`
function secondsText(value) {
    if (value >= 3600) return `${Math.floor(value / 3600)} h ${String(Math.floor(value % 3600 / 60)).padStart(2, "0")} min`
    if (value == 0) return "0 s"
    const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"]].find(([scale]) => value >= 0.9995 * scale) ?? [1e-9, "ns"]
    return `${three(value / scale)} ${unit}`
}
const named = (count, noun) => `${count} ${noun}${count == 1 ? "" : "s"}`
const sum = values => values.reduce((whole, each) => whole + each, 0)
const most = values => values.reduce((found, each) => Math.max(found, each ?? 0), 0)

function element(tag, content = {}, ...children) {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(content)) name == "text" ? made.textContent = value : made.setAttribute(name, value)
    made.append(...children)
    return made
}

// One tip for all that explain themselves, by pointer and by keyboard.
const tip = element("div", { class: "tip", "aria-hidden": "true", hidden: "" })
// What a screen reader says as keys move over a picture.
const said = element("div", { class: "said", role: "status" })
document.body.append(tip, said)
function showTip(text, x, y) {
    tip.hidden = !text
    if (!text) return
    if (tip.textContent != text) tip.textContent = text
    const { width, height } = tip.getBoundingClientRect()
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`
}
const explained = event => event.target.closest?.("[data-tip]")
addEventListener("pointermove", event => {
    if (event.target.tagName == "CANVAS") return
    showTip(explained(event)?.dataset.tip, event.clientX, event.clientY)
})
addEventListener("focusin", event => {
    const box = explained(event)?.getBoundingClientRect()
    showTip(box && explained(event).dataset.tip, box?.left, box?.bottom - 14)
})
addEventListener("focusout", () => showTip(""))
addEventListener("keydown", event => event.key == "Escape" && showTip(""))

const dark = matchMedia("(prefers-color-scheme: dark)")
const isDark = () => (document.documentElement.style.colorScheme || (dark.matches ? "dark" : "light")) == "dark"
const pictures = new Set()
const redraw = () => pictures.forEach(({ draw }) => draw())
const theme = document.getElementById("theme")
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark" }
theme.addEventListener("click", () => {
    document.documentElement.style.colorScheme = isDark() ? "light" : "dark"
    nameTheme()
    redraw()
})
dark.addEventListener("change", () => { nameTheme(); redraw() })
nameTheme()

// Keys with these are the browser's: to enlarge the page, to go back.
const forBrowser = ({ ctrlKey, altKey, metaKey }) => ctrlKey || altKey || metaKey

// Buttons of which one is chosen for what is in a panel; arrows go from one to the next.
let panels = 0
function tabs(label, names, chosen, panel) {
    panel.id ||= `panel-${panels += 1}`
    panel.setAttribute("role", "tabpanel")
    const list = element("div", { class: "tabs", role: "tablist", "aria-label": label })
    const choose = at => {
        ;[...list.children].forEach((each, place) => {
            each.setAttribute("aria-selected", place == at)
            each.tabIndex = place == at ? 0 : -1
        })
        panel.setAttribute("aria-label", `${label}: ${names[at]}`)
        chosen(at)
    }
    names.forEach((name, at) => {
        const button = element("button", { role: "tab", type: "button", "aria-controls": panel.id, text: name })
        button.addEventListener("click", () => choose(at))
        list.append(button)
    })
    list.addEventListener("keydown", event => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
        if (!step || forBrowser(event)) return
        const next = ([...list.children].indexOf(document.activeElement) + step + names.length) % names.length
        list.children[next].focus()
        choose(next)
    })
    choose(0)
    return list
}

// The command that tells every number of the page.
const numbersOf = () => document.querySelector("main").dataset.numbers

// A picture as text, made when it is asked for: the first 200 lines of it. `told` gives how many there are, and each by its place.
function asText(label, told) {
    const made = element("details", { class: "as-text" }, element("summary", { text: `As text: ${label}` }))
    made.addEventListener("toggle", () => {
        if (!made.open) return
        const [count, line] = told(), lines = Array.from({ length: Math.min(count, 200) }, (_, at) => line(at))
        if (count > 200) lines.push(`${count - 200} more are in ${numbersOf()}`)
        made.lastChild.tagName == "UL" && made.lastChild.remove()
        made.append(element("ul", {}, ...lines.map(text => element("li", { text }))))
    })
    return made
}

// Says in its place that something is missing, and by which fault.
function fault(what, error) {
    console.error(error)
    const words = `${what} is not drawn or not whole, by a fault of the page: ${error}. Its numbers are in `
    return element("p", { class: "gaps", role: "alert" }, words, element("code", { text: numbersOf() }), ".")
}

// A canvas that draws itself anew as its width or the colours change; what fails says so beside it. `at` says what is at a place; the arrows go there
// in steps. `told` is the whole as text: see `asText`. `open` is called with a place that is clicked on, or where Enter is
// pressed; `area` is where the arrows may go, and `beyond` is asked to bring there what is on the other side of its edge.
function picture(holder, label, height, paint, at, step, told, { open, area, beyond } = {}) {
    const canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "picture", "aria-label": `${label}; arrow keys say what is where` })
    const text = asText(label, told)
    holder.append(canvas, text)
    let cursor = null, placed = false, missing = null
    const paintAnew = () => {
        const width = holder.clientWidth
        if (!width || !canvas.isConnected) return
        const tall = height(width), ratio = Math.min(devicePixelRatio || 1, 2)
        canvas.width = width * ratio
        canvas.height = tall * ratio
        canvas.style.height = `${tall}px`
        const context = canvas.getContext("2d")
        context.scale(ratio, ratio)
        context.font = "13px system-ui, sans-serif"
        context.fillStyle = getComputedStyle(canvas).color
        paint(context, width, tall)
        if (cursor) {
            context.strokeStyle = getComputedStyle(canvas).color
            context.strokeRect(cursor[0] - 4, cursor[1] - 4, 8, 8)
        }
    }
    // All others are drawn whatever happens here. The words stay while they are true, so that they are said once.
    const draw = () => {
        try {
            paintAnew()
            missing?.remove()
            missing = null
        } catch (error) {
            if (missing) return
            canvas.before(missing = fault(`The picture "${label}"`, error))
        }
    }
    const tell = (x, y) => {
        const box = canvas.getBoundingClientRect()
        showTip(at(x, y, box.width, box.height), box.left + x, box.top + y)
    }
    canvas.addEventListener("pointermove", event => tell(event.offsetX, event.offsetY))
    canvas.addEventListener("pointerleave", () => showTip(""))
    canvas.addEventListener("blur", () => { cursor = null; draw() })
    canvas.addEventListener("keydown", event => {
        if (forBrowser(event)) return
        const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key]
        const box = canvas.getBoundingClientRect()
        if (event.key == "Enter" && open && cursor) return void open(...cursor, box.width, box.height)
        if (!way) return
        event.preventDefault()
        const steps = step(box.width, box.height), [x, y, right, down] = area?.(box.width, box.height) ?? [0, 0, box.width, box.height]
        const from = cursor ?? [(x + right) / 2, (y + down) / 2]
        const next = way.map((each, axis) => from[axis] + each * steps[axis])
        const outside = next[0] < x || next[1] < y || next[0] > right || next[1] > down
        if (!outside || !beyond?.(way))
            cursor = [Math.min(Math.max(next[0], x + 1), right - 1), Math.min(Math.max(next[1], y + 1), down - 1)]
        draw()
        tell(...cursor)
        said.textContent = tip.hidden ? "nothing here" : tip.textContent
    })
    if (open) canvas.addEventListener("click", event => {
        const box = canvas.getBoundingClientRect()
        open(event.offsetX, event.offsetY, box.width, box.height)
    })
    // What was taken out of the page is drawn no more. Until the task that makes a picture ends, it may be put in yet.
    queueMicrotask(() => { placed = true })
    const sizes = new ResizeObserver(draw)
    const forget = () => { if (placed && !canvas.isConnected) { sizes.disconnect(); pictures.delete(own) } }
    const own = { draw, forget }
    pictures.forEach(each => each.forget())
    pictures.add(own)
    sizes.observe(holder)
    // Where something else is drawn, an open text is of that, too.
    const retell = () => { if (text.open) text.dispatchEvent(new Event("toggle")) }
    return { canvas, draw, retell, cursor: () => cursor }
}

// Ticks of an axis of whole numbers, or of none where they would stand on each other.
function ticks(first, last, room, apart = 60) {
    const wanted = Math.max((last - first) * apart / Math.max(room, 1), 1)
    const scale = 10 ** Math.floor(Math.log10(wanted))
    const step = Math.max([1, 2, 5, 10].map(each => each * scale).find(each => each >= wanted), 1)
    const found = []
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) found.push(at)
    return found
}

// Text in the middle of a place, and not beyond the right edge.
function centred(context, text, place, y, edge) {
    context.textAlign = "center"
    context.fillText(text, Math.min(place, edge - context.measureText(text).width / 2), y)
}

// Stacked bars: where there are more than pixels, each is the mean of neighbours. `open` is called with the first of a bar and
// how many it stands for; `marks` are what the axis has in place of the names.
function stacks(holder, label, parts, names, whole, open, marks = names) {
    const left = 62, bottom = 22
    const longest = most(whole)
    const bars = width => {
        const per = Math.max(Math.ceil(names.length / Math.max(width - left, 1)), 1)
        return [per, Math.ceil(names.length / per)]
    }
    const mean = (column, first, per) => {
        const some = column.slice(first, first + per)
        return sum(some) / some.length
    }
    const paint = (context, width, height) => {
        const [per, count] = bars(width), wide = (width - left) / count, tall = height - bottom - 8
        const ink = context.fillStyle
        context.textBaseline = "middle"
        context.textAlign = "right"
        for (const part of [0, 0.5, 1]) context.fillText(secondsText(longest * part), left - 6, 8 + tall * (1 - part))
        for (const tick of ticks(0, names.length - 1, width - left, 90)) {
            const place = left + (tick + 0.5) * (width - left) / names.length
            if (place < width - 20) centred(context, marks[tick], place, height - 9, width)
        }
        for (let bar = 0; bar < count; bar += 1) {
            // Whole pixels: neighbours neither overlap nor leave a seam.
            const begin = left + Math.round(bar * wide), end = left + Math.round((bar + 1) * wide) - (wide > 4 ? 1 : 0)
            let below = 0
            for (const part of parts) {
                const share = mean(part.seconds, bar * per, per) / longest
                context.fillStyle = part.colour
                context.fillRect(begin, 8 + tall * (1 - below - share), end - begin, tall * share)
                below += share
            }
        }
        context.fillStyle = ink
    }
    const told = (bar, per) => {
        const last = Math.min((bar + 1) * per, names.length) - 1
        const who = last > bar * per ? `${names[bar * per]} to ${names[last]}, mean` : names[bar * per]
        const told = parts.map(part => [part, mean(part.seconds, bar * per, per)]).filter(([, seconds]) => seconds > 0)
        const all = mean(whole, bar * per, per)
        return [who, ...told.map(([part, seconds]) => `${part.name} ${secondsText(seconds)}, ${percentText(seconds / all)}`)].join("\n")
    }
    const barAt = (x, width) => Math.floor((x - left) * bars(width)[1] / (width - left))
    const at = (x, y, width) => {
        const [per, count] = bars(width), bar = barAt(x, width)
        return bar < 0 || bar >= count ? "" : told(bar, per)
    }
    const clicked = (x, y, width) => {
        const [per] = bars(width), first = barAt(x, width) * per
        if (first >= 0 && first < names.length) open(first, Math.min(per, names.length - first))
    }
    return picture(holder, label, () => 240, paint, at, width => [Math.max((width - left) / bars(width)[1], 1), 0], () => [names.length, bar => told(bar, 1)],
        { open: open && clicked, area: (width, height) => [left, 0, width, height] })
}

// Rows of what happened over time, the more the stronger; `marks` are moments. Of a row of `events`, each is told as text, of others the most.
function strips(holder, label, rows, end) {
    const high = 20, bottom = 24
    const left = width => Math.min(width * 0.4, 210)
    const paint = (context, width, height) => {
        const ink = context.fillStyle, room = width - left(width)
        context.textBaseline = "middle"
        rows.forEach((row, at) => {
            context.fillStyle = ink
            context.textAlign = "left"
            context.fillText(row.name, 0, (at + 0.5) * high, left(width) - 8)
            for (const piece of row.pieces) {
                context.globalAlpha = Math.max(piece.share, 0.04)
                context.fillStyle = row.colour ?? piece.colour
                context.fillRect(left(width) + piece.begin / end * room, at * high + 1, Math.max((piece.end - piece.begin) / end * room, 1), high - 2)
            }
            context.globalAlpha = 1
            context.fillStyle = ink
            for (const mark of row.marks ?? []) context.fillRect(left(width) + mark / end * room - 1, at * high + 3, 2, high - 6)
        })
        context.textAlign = "center"
        for (const part of [0, 0.25, 0.5, 0.75, 1])
            context.fillText(secondsText(end * part), Math.min(left(width) + part * room, width - 24), height - 10)
    }
    const at = (x, y, width) => {
        const row = rows[Math.floor(y / high)], time = (x - left(width)) / (width - left(width)) * end
        if (!row || time < 0) return row?.name ?? ""
        return row.pieces.find(piece => piece.begin <= time && time < piece.end)?.text ?? `${row.name}: nothing known`
    }
    return picture(holder, label, () => rows.length * high + bottom, paint, at, width => [(width - left(width)) / 40, high],
        () => {
            const strongest = row => {
                const most = row.pieces.reduce((found, each) => each.share > found.share ? each : found, { share: 0 })
                return most.share ? `${most.text}, the most, at ${secondsText(most.begin)} to ${secondsText(most.end)}` : `${row.name}: nothing known`
            }
            const event = (row, piece) => `${row.name}, ${secondsText(piece.begin)} to ${secondsText(piece.end)}: ${piece.text}`
            const lines = rows.flatMap(row => row.events ? row.pieces.map(piece => () => event(row, piece)) : [() => strongest(row)])
            return [lines.length, at => lines[at]()]
        })
}

function drawTracks(holder, report, colours) {
    const { timeline } = report
    const end = timeline?.edges_s.at(-1) ?? report.elapsed_s
    const tracks = timeline?.tracks ?? [], highest = {}
    for (const track of tracks) highest[track.kind] = Math.max(highest[track.kind] ?? 0, most(track.per_s))
    const hosts = report.program.hosts
    const rate = (kind, value) => kind == "waiting for a core" ? percentText(value) : `${(kind.startsWith("bytes") ? bytesText : countText)(value)}/s`
    const rows = tracks.map(track => {
        const name = (hosts.length > 1 && track.host != null && !track.of.startsWith("rank") ? `${hosts[track.host]} ` : "") + track.of + `, ${track.kind}`
        return {
            name, colour: colours[track.kind], marks: track.moves_s,
            pieces: track.per_s.flatMap((value, at) => value == null ? [] : [{
                begin: timeline.edges_s[at], end: timeline.edges_s[at + 1], share: value / (highest[track.kind] || 1),
                text: `${name}: ${rate(track.kind, value)}${track.pu?.[at] != null ? `, on PU ${track.pu[at]}` : ""}`,
            }]),
        }
    })
    const tuned = new Map()
    for (const change of report.tuning.filter(each => each.ended_s == null || each.ended_s > 0)) {
        const begin = Math.max(change.proposed_s, 0), { estimated_gain: estimated, measured } = change
        const row = tuned.get(change.host) ?? { name: `tuning ${change.host}`, events: true, pieces: [], marks: [] }
        const interval = measured?.low == null ? "" : ` (${percentText(measured.low)} to ${percentText(measured.high)})`
        const told = [
            `${change.became}: ${change.change}`,
            change.seen && `seen: ${change.seen}`,
            estimated && `estimated: ${percentText(estimated)} of an iteration`,
            change.applied_s != null && `done at ${secondsText(Math.max(change.applied_s, 0))}`,
            measured && `measured: ${percentText(measured.value)}${interval}`,
            change.why,
        ]
        row.pieces.push({
            begin, end: change.ended_s ?? (change.applied_s == null ? begin + end / 100 : end), share: 0.8,
            colour: colours[change.became] ?? "#999999", text: told.filter(Boolean).join("\n"),
        })
        if (change.applied_s != null) row.marks.push(Math.max(change.applied_s, 0))
        tuned.set(change.host, row)
    }
    strips(holder, "what happened over time, by rank, core and interface", [...rows, ...tuned.values()], end)
}

// Times of ranks as bars, in the orders that tabs choose.
function drawTimes(holder, { ranks, program, time, bars }, looks) {
    // Of more ranks than the page has room for, each bar is the mean of some.
    if (bars) {
        const parts = looks.map(part => ({ ...part, seconds: bars.time[`${part.key}_s`] }))
        return void stacks(holder, "time of neighbouring ranks, mean", parts, bars.names, bars.time_s)
    }
    const parts = looks.map(part => ({ ...part, seconds: time[`${part.key}_s`] }))
    const shown = element("div")
    const byRank = order => () => {
        shown.replaceChildren()
        const sorted = column => order ? order.map(at => column[at]) : column
        stacks(shown, "time by rank", parts.map(each => ({ ...each, seconds: sorted(each.seconds) })), sorted(ranks.rank).map(each => `rank ${each}`), sorted(ranks.time_s))
    }
    const byNode = () => {
        shown.replaceChildren()
        const counts = program.hosts.map(() => 0)
        ranks.host.forEach(host => counts[host] += 1)
        const means = column => {
            const sums = program.hosts.map(() => 0)
            column.forEach((value, at) => sums[ranks.host[at]] += value)
            return sums.map((value, host) => value / (counts[host] || 1))
        }
        shown.append(element("p", { class: "soft", text: "A click on a bar, or Enter, shows the ranks of its nodes." }))
        stacks(shown, "time by node", parts.map(each => ({ ...each, seconds: means(each.seconds) })), program.hosts, means(ranks.time_s), ofNodes)
    }
    const ofNodes = (first, count) => {
        const hosts = program.hosts.slice(first, first + count), name = count > 1 ? `${hosts[0]} to ${hosts.at(-1)}` : hosts[0]
        const back = element("button", { type: "button", text: "back to all nodes" })
        back.addEventListener("click", () => { byNode(); shown.querySelector("canvas").focus() })
        shown.replaceChildren(element("p", {}, back, ` ${name}`))
        const own = ranks.rank.map((_, at) => at).filter(at => first <= ranks.host[at] && ranks.host[at] < first + count)
        own.sort((one, other) => ranks.host[one] - ranks.host[other] || one - other)
        const some = column => own.map(at => column[at]), marks = some(ranks.rank).map(each => `rank ${each}`)
        const names = count > 1 ? marks.map((each, at) => `${each}, ${program.hosts[ranks.host[own[at]]]}`) : marks
        const { canvas } = stacks(shown, `time by rank of ${name}`, parts.map(each => ({ ...each, seconds: some(each.seconds) })), names, some(ranks.time_s), undefined, marks)
        canvas.addEventListener("keydown", event => { if (event.key == "Backspace" && !forBrowser(event)) back.click() })
        canvas.focus()
    }
    const computed = time.computation_s
    const worst = ranks.rank.map((_, at) => at).sort((a, b) => computed[a] / (ranks.time_s[a] || 1) - computed[b] / (ranks.time_s[b] || 1))
    const views = [["by rank", byRank()], ["least computation first", byRank(worst)]]
    // Of many ranks, nodes come first.
    if (program.hosts.length > 1) views.splice(ranks.rank.length > 512 ? 0 : 1, 0, ["by node, mean", byNode])
    holder.append(tabs("order", views.map(([name]) => name), at => views[at][1](), shown), shown)
}

// Draws in the place of this name, if the page has one. What fails says so there, and all else is drawn.
function drawIn(name, make) {
    const holder = document.getElementById(name)
    if (!holder) return
    try {
        make(holder)
    } catch (error) {
        holder.append(fault("This", error))
    }
}

async function start() {
    const coded = document.getElementById("numbers").textContent
    const bytes = Uint8Array.from(atob(coded), each => each.charCodeAt(0))
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
    const report = JSON.parse(await new Response(plain).text())
    const look = JSON.parse(document.getElementById("look").textContent)
    drawIn("map-picture", holder => drawMap(holder, report))
    drawIn("ranks-picture", holder => drawTimes(holder, report, look.parts))
    drawIn("matrix-picture", holder => drawMatrix(holder, report))
    drawIn("waits-picture", holder => drawWaits(holder, report))
    drawIn("sizes-picture", holder => drawSizes(holder, report.sizes, look.sizes))
    drawIn("phases-picture", holder => drawPhases(holder, report, look.states))
    drawIn("over-time-picture", holder => strips(holder, "what the ranks used over time", look.over_time.map(row => ({
        ...row, pieces: row.values.flatMap((value, at) => value == null ? [] : [{
            begin: row.edges_s[at], end: row.edges_s[at + 1], share: value / (most(row.values) || 1), text: `${row.name}: ${row.texts[at]}`,
        }]),
    })), look.over_time[0].edges_s.at(-1)))
    drawIn("tracks-picture", holder => drawTracks(holder, report, look.tracks))
    // What scripts behind this one draw.
    document.dispatchEvent(new CustomEvent("numbers", { detail: report }))
    document.documentElement.dataset.drawn = "yes"
}

// What is short in a narrow window is whole when its button is pressed: see `folds` in report.css.
document.addEventListener("click", ({ target }) => {
    if (target.classList.contains("unfold")) target.setAttribute("aria-expanded", target.parentElement.classList.toggle("unfolded"))
})

// On paper everything is open and light.
const root = document.documentElement
addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open], .as-text)").forEach(each => {
        each.open = true
        each.dataset.closed = ""
        each.dispatchEvent(new Event("toggle"))
    })
    root.dataset.scheme = root.style.colorScheme
    root.style.colorScheme = "light"
    redraw()
})
addEventListener("afterprint", () => {
    document.querySelectorAll("details[data-closed]").forEach(each => { each.open = false; delete each.dataset.closed })
    root.style.colorScheme = root.dataset.scheme
    redraw()
})

// What is wider than its place is moved by keys, too.
const scrolled = new ResizeObserver(entries => entries.forEach(({ target }) => {
    const wider = target.scrollWidth > target.clientWidth
    for (const [name, value] of [["tabindex", 0], ["role", "group"], ["aria-label", "table, wider than the page"]])
        wider ? target.setAttribute(name, value) : target.removeAttribute(name)
}))
document.querySelectorAll(".scroll").forEach(each => scrolled.observe(each))

start().catch(error => {
    const why = typeof DecompressionStream == "undefined" ? "this browser cannot unpack what they are drawn from" : `${error}`
    const words = `Pictures and the map are not drawn: ${why}. Chrome and Edge 123, Firefox 120, Safari 17.5 and later draw them. Every number is in `
    document.querySelector("main").prepend(element("p", { class: "gaps", role: "alert" }, words, element("code", { text: numbersOf() }), "."))
})
