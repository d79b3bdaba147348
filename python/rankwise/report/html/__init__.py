# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML file that needs no network: charts in one file each, words and tables in the template."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import jinja2
from bokeh.embed import components
from bokeh.model import Model
from bokeh.plotting import figure
from bokeh.resources import Resources
from markupsafe import Markup, escape

from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.report import efficiency_words, finding_words, tuning, use_words, words
from rankwise.report.data import ReportData, to_dict
from rankwise.report.hosts import short_names
from rankwise.report.html import distribution, matrix, ranks, tracks, use

# Above this many ranks, or cores, what is by rank or by core stays out of the embedded JSON (`report --json` has it).
_MOST_EMBEDDED = 4096
# Rows of a table; others are in the JSON.
_MOST_ROWS = 500


def render(report: ReportData) -> str:
    """The whole page."""
    charts: dict[str, figure | None] = {
        "ranks": ranks.chart(report),
        "matrix": matrix.chart(report),
        "over_time": use.chart(report),
        "tracks": tracks.chart(report),
    }
    for at, placed in enumerate(report.distributions):
        charts |= {f"{what}{at}": made for what, made in distribution.charts(placed).items()}
    drawn: dict[str, Model] = {name: chart for name, chart in charts.items() if chart is not None}
    script, divisions = components(drawn) if drawn else ("", {})
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["spans"] = _spans
    environment.globals.update(
        words=words,
        use_words=use_words,
        tuning_words=tuning,
        efficiency_words=efficiency_words,
        finding_words=finding_words,
        counted=counted,
        count_text=count_text,
        bytes_text=bytes_text,
        seconds_text=seconds_text,
    )
    return environment.from_string(_file("page.html.jinja")).render(
        report=report,
        most_rows=_MOST_ROWS,
        host_names=short_names(report.program.hosts),
        not_recorded=words.not_recorded(report),
        style=Markup(_file("page.css")),
        library=Markup(Resources(mode="inline", components=["bokeh"], minified=True).render_js()),
        script=Markup(script),
        charts={name: Markup(division) for name, division in divisions.items()},
        raw=Markup(_raw_json(report)),
        rank_legend=ranks.legend(report),
        over_time_legend=use.legend(report),
        tracks_legend=tracks.legend(report),
        channel_legend=distribution.legend,
        groups=report.matrix.ranks_per_group,
    )


def _raw_json(report: ReportData) -> str:
    content = to_dict(report)
    if len(report.ranks.rank) > _MOST_EMBEDDED:
        content["ranks"] = content["use"] = None
    elif max(len(report.use.cores), len(report.use.interrupts), len(report.use.queues)) > _MOST_EMBEDDED:
        content["use"] = None
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Inside a script element only these could end it or start a comment.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _spans(text: str) -> Markup:
    """What stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
