"""What a user does with a matrix of the page: a check of test_page.py."""

import browser as web
from browser import Keys


def check_matrix(page):
    canvas = page.one(".matrix canvas")
    page.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    canvas.press(Keys.ARROW_RIGHT)
    text = lambda: page.one(".matrix .readout").text  # noqa: E731
    assert text() == "sender 0, receiver 1: 98.30 kB", text()  # 12 messages of 8,192 bytes
    size = canvas.size
    page.run("arguments[0].addEventListener('pointermove', (event) => { window.lastMove = event; })", canvas)
    page.do(canvas.hand(size["width"] * 2.5 / 8, size["height"] * 1.5 / 8))
    assert text() == "sender 1, receiver 2: 196.6 kB", text()
    page.one(".matrix select").choose(1)
    canvas.press(Keys.ARROW_DOWN)
    web.wait(lambda: text().startswith("sender 2, receiver 2: "), "the cell below")
    # Browsers tell again of a pointer that rests; the cell stays where keys have moved it.
    page.run("arguments[0].dispatchEvent(new PointerEvent('pointermove', window.lastMove))", canvas)
    canvas.press(Keys.ARROW_RIGHT)
    web.wait(lambda: text() == "sender 2, receiver 3: 12", "the number of messages")
    assert "largest of 8 cells" in page.one(".matrix details").text
    expect_names(page, canvas)


def expect_names(page, canvas):
    """Each row's name is beside the middle of its cells, the first and last column's below theirs."""
    box = page.run("const box = arguments[0].getBoundingClientRect(); return [box.top, box.left, box.height, box.width]",
                   canvas)
    middles = page.run("return [...document.querySelectorAll('.matrix .row-names span')].slice(0, 8).map((span) => {"
                       "const box = span.getBoundingClientRect(); return [span.textContent, (box.top + box.bottom) / 2]})")
    assert [name for name, _ in middles] == [str(i) for i in range(8)], middles
    for i, (_, middle) in enumerate(middles):
        assert abs(middle - box[0] - box[2] * (i + 0.5) / 8) < 2, (i, middle, box)
    ends = page.run("const names = document.querySelector('.matrix .column-names'), box = names.getBoundingClientRect();"
                    "return [names.textContent, box.left, box.right, box.top]")
    assert ends[0] == "07" and abs(ends[1] - box[1]) < 2 and abs(ends[2] - box[1] - box[3]) < 2, (ends, box)
    assert ends[3] >= box[0] + box[2]
