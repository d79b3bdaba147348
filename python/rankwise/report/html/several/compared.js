// The matrices of two runs, and what one has more of than the other.
document.addEventListener("numbers", ({ detail: report }) => drawIn("compared-picture", holder => {
    const { compared } = report, { groups, before, after } = compared, [source, destination] = ends(compared)
    const ways = orders(report, compared)
    const kinds = [["bytes", bytesText], ["messages", countText]]
    const amount = (side, at) => `${bytesText(side.bytes[at])}, ${countText(side.messages[at])} message${side.messages[at] == 1 ? "" : "s"}`
    matrix(holder, groups, {
        label: "messages between ranks, before and after",
        view: ([which, what, how]) => {
            const [column, text] = kinds[what], way = ways[how]
            const values = [compared.difference, before, after][which][column]
            return {
                rows: source.map(way.row), columns: destination.map(way.row), values, signed: which == 0, text, name: way.name, lines: way.lines,
                title: (from, to) => `${from} to ${to}: `,
                tip: at => `before ${amount(before, at)}; after ${amount(after, at)}`,
                note: values.some(each => each) ? "" : which == 0 ? `No pair has more or fewer ${column} than before.` : "No messages.",
            }
        },
        switches: [
            { label: "which run", names: ["difference", "before", "after"] },
            { label: "what is drawn", names: kinds.map(([column]) => column) },
            { label: "order of ranks", names: ways.map(way => way.title) },
        ],
    })
}))
