"""LaTeX: what its reader sees, in sections; its sources of trouble cost bounded time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.unit.extract.drafts import canon

PAPER = r"""\documentclass{article}
\title{On \emph{Boats}}
\author{Ann Lee \and Bob Roe}
\begin{document}
\maketitle
\section{Wood \label{s:w}}
Larch lasts 50\% longer \cite{lee99}. % not this
J\"org M\"{u}ller, na\"{\i}ve caf\'e, \v{c}, \c c; ``yes'' --- \textbf{bold {nested}} and $a_{1}+b$.

\begin{itemize}
\item First \emph{one}
\item Second
\end{itemize}
\begin{enumerate}\item a\item b\end{enumerate}
\begin{verbatim}
x = {1} % kept
\end{verbatim}
\begin{equation}
E = mc^2
\end{equation}
\begin{figure}\includegraphics[width=1cm]{a.png}\caption{A boat.}\end{figure}
\subsection*{Care}
Paint it.
\end{document}
nothing here is read
"""


def test_papers_are_sections(tmp_path: Path) -> None:
    body = canon(tmp_path, PAPER, "text/x-tex")
    assert body.title == "On Boats"
    assert body.authors == ["Ann Lee", "Bob Roe"]
    assert [(b.kind.value, b.text, b.marker, b.section) for b in body.blocks[1:]] == [
        ("title", "On Boats", None, []),
        ("heading", "Wood", None, []),
        (
            "paragraph",
            "Larch lasts 50% longer [lee99]. Jörg Müller, naïve café, č, ç; “yes” — bold nested and $a_{1}+b$.",
            None,
            ["Wood"],
        ),
        ("list_item", "First one", "•", ["Wood"]),
        ("list_item", "Second", "•", ["Wood"]),
        ("list_item", "a", "1.", ["Wood"]),
        ("list_item", "b", "2.", ["Wood"]),
        ("code", "x = {1} % kept", None, ["Wood"]),
        ("formula", "E = mc^2", None, ["Wood"]),
        ("caption", "A boat.", None, ["Wood"]),
        ("heading", "Care", None, ["Wood"]),
        ("paragraph", "Paint it.", None, ["Wood", "Care"]),
    ]


@pytest.mark.parametrize(
    "piece",
    [r"\begin{verbatim}", r"\section{", r"\section[", "{", "$", r"\[", r"\begin{equation}", "%\n", r"\'{", "\n \n"],
)
def test_nothing_unclosed_is_slow(tmp_path: Path, piece: str) -> None:
    canon(tmp_path, "warm up", "text/x-tex")
    began = time.process_time()
    canon(tmp_path, "Some text. " + piece * 20_000, "text/x-tex")
    assert time.process_time() - began < 6
