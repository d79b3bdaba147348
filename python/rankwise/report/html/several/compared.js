// The matrices of two runs, and what one has more of than the other.
document.addEventListener("numbers", ({ detail: report }) => drawIn("compared-picture", holder => {
    const { compared } = report, { groups } = compared, [source, destination] = ends(compared)
    const ways = orders(report, compared), level = levels(ways, compared, 3)
    const kinds = [["bytes", bytesText], ["messages", countText]]
    const amount = (side, at) => `${bytesText(side.bytes[at])}, ${countText(side.messages[at])} message${side.messages[at] == 1 ? "" : "s"}`
    matrix(holder, groups, {
        label: "messages between ranks, before and after",
        view: ([which, what, how, deep]) => {
            const [column, text] = kinds[what], nodes = level.of(ways[how], deep), way = nodes?.way ?? ways[how]
            let { difference, before, after } = compared, rows = source.map(way.row), columns = destination.map(way.row)
            if (nodes) {
                const sides = [difference, before, after], found = gathered(nodes.rows, rows, columns, sides.flatMap(each => [each.bytes, each.messages]))
                ;[rows, columns] = found
                ;[difference, before, after] = sides.map((_, side) => ({ bytes: found[2 + 2 * side], messages: found[3 + 2 * side] }))
            }
            const values = [difference, before, after][which][column]
            return {
                rows, columns, values, signed: which == 0, text, name: way.name, lines: way.lines, outside: level.outside,
                title: (from, to) => `${from} to ${to}: `,
                tip: at => `before ${amount(before, at)}; after ${amount(after, at)}`,
                note: values.some(each => each) ? "" : which == 0 ? `No pair has more or fewer ${column} than before.` : "No messages.",
                ...(nodes ? { ...nodes.look, outside: null } : {}),
            }
        },
        switches: [
            { label: "which run", names: ["difference", "before", "after"] },
            { label: "what is drawn", names: kinds.map(([column]) => column) },
            { label: "order of ranks", names: ways.map(way => way.title) },
            { label: "what a row is", names: level.names },
        ],
    })
}))
