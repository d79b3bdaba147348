document.addEventListener("numbers", ({ detail: { predicted, program } }) => drawIn("predicted-picture", holder => {
    const { states, placements, end_s: end } = predicted
    const shown = element("div")
    const show = at => {
        shown.replaceChildren()
        drawRows(shown, `predicted timeline, ${placements[at].name}`, placements[at], end, program.world_size, states)
    }
    holder.append(tabs("placement", placements.map(each => `${each.name}, ${secondsText(each.end_s)}`), show, shown), shown)
}))
