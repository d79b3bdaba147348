// Cores in boxes: package, NUMA node, shared caches from the largest, where each says something new.
function nodeBox(node, kind, open, alone = false) {
    const on = kind.pus.map(() => []), anywhere = []
    node.ranks.forEach((rank, at) => node.cores[at].length ? node.cores[at].forEach(core => on[core].push(rank)) : anywhere.push(rank))
    const grouping = of => of.map(each => of.indexOf(each)).join()
    const levels = [["package", kind.packages], ["NUMA node", kind.numa_nodes], ...kind.caches.map(each => [each.name, each.of_core]).reverse()]
        .filter(([, of], at, all) => new Set(of).size > 1 && !all.slice(0, at).some(([, other]) => grouping(other) == grouping(of)))
    const build = (cores, [level, ...inner]) => {
        if (!level) return cores.map(core => {
            const ranks = on[core], pus = kind.pus[core]
            const interrupts = pus.some(pu => node.interrupt_pus.includes(pu))
            const text = ranks.length > 2 ? `${ranks.length} ranks` : ranks.join(" ") || (anywhere.length ? "any" : "·")
            return element("span", {
                class: `core${ranks.length ? " used" : ""}${ranks.length > 1 ? " shared" : ""}${interrupts ? " interrupts" : ""}`, text,
                "data-tip": `core ${core} (PU ${pus.join(", ")}): ${ranks.length ? `${ranks.length == 1 ? "rank" : "ranks"} ${ranks.join(" ")}` : anywhere.length ? "any of the ranks that are bound to none" : "no rank"}` +
                    (interrupts ? "\ntakes the network's interrupts" : ""),
            })
        })
        const groups = new Map()
        for (const core of cores) groups.set(level[1][core], [...(groups.get(level[1][core]) ?? []), core])
        return [...groups].map(([id, some]) => element("span", { class: "group" }, element("small", { text: `${level[0]} ${id}` }), ...build(some, inner)))
    }
    const made = element("details", { class: "node" })
    const traffic = `${bytesText(node.inside_bytes)} inside${alone ? "" : `, ${bytesText(node.sent_bytes)} sent, ${bytesText(node.received_bytes)} received`}`
    made.append(element("summary", {}, element("b", { text: node.name }), ` ${named(node.ranks.length, "rank")} `, element("small", { text: traffic })))
    made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return
        made.append(element("div", {}, ...build(kind.pus.map((_, core) => core), levels)))
        if (anywhere.length) made.append(element("small", { text: `on any core: ${named(anywhere.length, "rank")}, ${anywhere.slice(0, 16).join(" ")}${anywhere.length > 16 ? " ..." : ""}` }))
        for (const each of node.interfaces)
            made.append(element("div", {}, element("small", { text: `interface ${each.name}: ${each.rx_bytes == null ? "?" : bytesText(each.rx_bytes)} received, ${each.tx_bytes == null ? "?" : bytesText(each.tx_bytes)} sent` })))
    })
    made.open = open
    return made
}

// One placement beside the next; of several that were asked for, tabs choose the second one.
function drawMap(holder, report) {
    const { placed } = report.map
    const titles = placed.map(each => `${each.name}: ${bytesText(sum(each.nodes.map(node => node.sent_bytes)) + (each.more?.sent_bytes ?? 0))} between nodes`)
    if (placed.length == 1) return void holder.append(placedMap(report, placed[0]))
    const second = element("div")
    const show = at => second.replaceChildren(placedMap(report, placed[at + 1]))
    const choice = placed.length > 2 ? tabs("placement", titles.slice(1), show, second) : element("h3", { text: titles[1] })
    if (placed.length == 2) show(0)
    holder.append(element("div", { class: "sides" },
        element("section", {}, element("h3", { text: titles[0] }), placedMap(report, placed[0])), element("section", {}, choice, second)))
}

// Links of all placements have one scale of colours.
function placedMap(report, { nodes, links, more }) {
    const { kinds } = report.map
    const few = nodes.length <= 8
    // So many cores are looked at without scrolling.
    const allOpen = few && sum(nodes.map(node => kinds[node.kind].pus.length)) <= 64
    // Many nodes: those with the most bytes, and any other one by a rank of it.
    const order = nodes.map((_, at) => at)
    if (!few) order.sort((a, b) => nodes[b].sent_bytes + nodes[b].received_bytes - nodes[a].sent_bytes - nodes[a].received_bytes || a - b)
    const boxes = element("div", { class: "nodes" }, ...order.slice(0, 8).map((node, place) => nodeBox(nodes[node], kinds[nodes[node].kind], allOpen || place < 1 && kinds[nodes[node].kind].pus.length <= 256, nodes.length == 1)))
    const parts = []
    if (!few) {
        const found = element("div", { class: "nodes" })
        const ask = element("input", { type: "number", min: 0, max: report.program.world_size - 1, size: 6 })
        ask.addEventListener("change", () => {
            const rank = Number(ask.value), node = nodes.find(each => each.ranks.includes(rank))
            const there = Number.isInteger(rank) && rank >= 0 && rank < report.program.world_size
            said.textContent = ask.value === "" || node ? "" : !there ? `There is no rank ${rank} here.`
                : more ? `The node of rank ${rank} is not on this page: it is in ${numbersOf()}.` : `The node of rank ${rank} is not known.`
            found.replaceChildren(node && ask.value !== "" ? nodeBox(node, kinds[node.kind], true) : said.textContent)
        })
        parts.push(element("p", { class: "soft" }, `${nodes.length + (more?.nodes ?? 0)} nodes; the 8 with the most bytes to and from others. `, element("label", {}, "Node of rank ", ask)), found)
    }
    const square = element("div", { class: "picture" })
    if (nodes.length > 1) {
        square.append(element("p", { class: "soft", text: "Bytes from each node (row) to each other (column)." + (links.left_out ? ` ${links.left_out} pairs with fewer bytes are left out.` : "") }))
        matrix(square, nodes.length, {
            label: "bytes between nodes", widest: 300,
            view: () => ({
                rows: links.source, columns: links.destination, values: links.bytes, text: bytesText,
                name: (at, short) => short && nodes[at].name.length > 6 ? `${at}` : nodes[at].name,
                title: (from, to) => `${from} to ${to}: `, tip: at => bytesText(links.bytes[at]),
                range: range(report.map.placed.flatMap(each => each.links.bytes).filter(each => each)),
            }),
        })
    }
    return element("div", {}, ...parts, element("div", { class: "map" }, boxes, ...(nodes.length > 1 ? [square] : [])))
}
