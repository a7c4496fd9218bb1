"""The file view in a browser: lines to link to, colours, huge files, and what was searched."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.accessible import violations
from tests.browser.site import NARROW, WIDE, Pages
from tests.browser.test_search import LOOKS, opened, searching

CODE = 'import os\n\n\ndef name(one: int) -> str:\n    """Text."""\n    return "two"  # why\n'
NUMBERED = "".join(f"line {number} of many\n" for number in range(1, 501))


def line(page: Page, number: int) -> Locator:
    return page.locator(f'[data-line="{number}"]')


def number_of(page: Page, number: int) -> Locator:
    return page.get_by_role("link", name=f"Line {number}", exact=True)


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_opens_at_the_line_of_its_address(pages: Pages) -> None:
    with searching(pages, {"src/long.txt": NUMBERED}) as site:
        page = opened(site, "/file/src/long.txt")
        expect(page.get_by_text("500 lines")).to_be_visible()
        page.goto("/file/src/long.txt#L321")
        expect(line(page, 321)).to_be_in_viewport()
        expect(line(page, 321)).to_have_class(re.compile("chosen"))
        expect(line(page, 321)).to_contain_text("line 321 of many")
        page.goto("/file/src/long.txt#L9999999")
        expect(line(page, 1)).to_contain_text("line 1 of many")


def test_lines_are_chosen_by_their_numbers_and_copied_as_a_link(pages: Pages) -> None:
    with searching(pages, {"src/long.txt": NUMBERED}) as site:
        page = opened(site, "/file/src/long.txt")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        number_of(page, 4).click()
        expect(page).to_have_url(re.compile("#L4$"))
        number_of(page, 7).click(modifiers=["Shift"])
        expect(page).to_have_url(re.compile("#L4-L7$"))
        expect(page.locator(".chosen")).to_have_count(4)
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("The link is copied.")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == f"{site.address}/file/src/long.txt#L4-L7"
        page.get_by_role("button", name="Copy path").click()
        expect(page.get_by_text("The path is copied.")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == "src/long.txt"
        page.keyboard.press("l")
        page.keyboard.type("400-402")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#L400-L402$"))
        expect(line(page, 400)).to_be_in_viewport()


def test_folders_of_the_path_search_in_them(pages: Pages) -> None:
    files = {"src/deep/one.txt": "alpha\n", "two.txt": "alpha\n"}
    with searching(pages, files) as site:
        page = opened(site, "/file/src/deep/one.txt")
        page.get_by_role("link", name="deep").click()
        page.get_by_role("searchbox").fill("alpha")
        expect(page.locator(".search-total")).to_have_text("1 match in 1 file")
        expect(page.get_by_role("heading", name="src/deep/one.txt")).to_be_visible()
        page.get_by_role("button", name="Search everywhere again").click()
        expect(page.locator(".search-total")).to_have_text("2 matches in 2 files")


def test_a_file_that_is_not_there_is_told_with_the_servers_words(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/file/src/none.py")
        site.allow("404")
        expect(page.get_by_role("alert")).to_contain_text("File does not exist")
        site.allow("400")
        (site.running.home.parent / "workspace" / "raw.dat").write_bytes(b"alpha\0" * 9)
        page.goto("/file/raw.dat")
        expect(page.get_by_role("alert")).to_contain_text(re.compile(r"^raw\.dat is a binary file"))


# ── colours ──────────────────────────────────────────────────────────────────────────────────────


LANGUAGES = [
    ("a.py", CODE, "keyword", "def"),
    ("a.ts", "export const x: number = 1;\n", "keyword", "export"),
    ("a.tsx", "const x = <b>text</b>;\n", "keyword", "const"),
    ("a.cpp", "int main() { return 0; }\n", "keyword", "return"),
    ("a.java", "public class A {}\n", "keyword", "public"),
    ("a.json", '{"name": true}\n', "bool", "true"),
    ("a.css", "a { color: red; }\n", "propertyName", "color"),
    ("a.html", "<p class='x'>text</p>\n", "typeName", "p"),
    ("a.rs", "fn main() {}\n", "keyword", "fn"),
    ("a.go", "package main\n", "keyword", "package"),
    ("a.php", "<?php echo 1; ?>\n", "keyword", "echo"),
    ("a.yaml", "name: text\n", "propertyName", "name"),
    ("a.md", "# Head\n", "heading", "Head"),
]


def test_files_are_coloured_by_their_language(pages: Pages) -> None:
    with searching(pages, {name: text for name, text, _, _ in LANGUAGES}, {}) as site:
        page = opened(site, "/file/a.py")
        for name, text, kind, coloured in LANGUAGES:
            page.goto(f"/file/{name}")
            expect(page.locator(f".tok-{kind}").filter(has_text=coloured).first).to_be_visible()
            assert page.locator(".code-line code").all_inner_texts() == text.splitlines(), name


def test_a_line_inside_a_long_string_or_comment_is_coloured_as_one(pages: Pages) -> None:
    inside = "".join(f"def inside_{number}(): return {number}\n" for number in range(4_000))
    java = "".join(f"int field{number};\n" for number in range(1_850))
    words = "class Inside { return; }\n" * 300
    files = {
        "a.py": f'before = 1\ntext = """\n{inside}"""\nafter = 2\n',
        "a.rb": f"before = 1\n=begin\n{inside}=end\nafter = 'x'\n",
        "a.java": f"class A {{\n{java}/*\n{words}*/\nint after;\n}}\n",
    }
    with searching(pages, files, {}) as site:
        page = opened(site, "/file/a.py#L3500")
        expect(line(page, 3500).locator(".tok-string")).to_have_text(
            "def inside_3497(): return 3497"
        )
        page.goto("/file/a.py#L4004")
        expect(line(page, 4004).locator(".tok-number")).to_have_text("2")
        page.goto("/file/a.rb#L3500")
        expect(line(page, 3500).locator(".tok-comment")).to_contain_text("def inside_3497")
        # The first piece that is loaded ends inside the comment.
        page.goto("/file/a.java")
        expect(line(page, 1).locator(".tok-keyword")).to_have_text("class")
        page.get_by_role("textbox", name="Line").fill("1950")
        page.keyboard.press("Enter")
        expect(line(page, 1950).locator(".tok-comment")).to_have_text("class Inside { return; }")
        page.get_by_role("textbox", name="Line").fill("2154")
        page.keyboard.press("Enter")
        expect(line(page, 2154).locator(".tok-typeName")).to_have_text("int")


def test_where_colours_are_not_certain_lines_are_plain_and_the_page_says_so(pages: Pages) -> None:
    cut = "a = 1\n" + "b = 2 " * 3_000 + "\nc = 3\n"
    with searching(pages, {"cut.py": cut}, {}) as site:
        page = opened(site, "/file/cut.py")
        expect(line(page, 1).locator(".tok-number")).to_have_text("1")
        expect(page.get_by_text("no colours from line 2 on")).to_be_visible()
        expect(line(page, 3)).to_contain_text("c = 3")
        expect(line(page, 3).locator("[class^=tok-]")).to_have_count(0)


def test_a_file_of_another_language_is_plain_and_whole(pages: Pages) -> None:
    with searching(pages, {"a.unknown": CODE}, {}) as site:
        page = opened(site, "/file/a.unknown")
        expect(page.locator(".code-line code")).to_have_text(CODE.splitlines())


# ── from a search ────────────────────────────────────────────────────────────────────────────────


def test_what_was_searched_stays_marked_and_keys_go_through_it(pages: Pages) -> None:
    with searching(pages, {"src/long.txt": NUMBERED}) as site:
        page = opened(site, "/?q=LINE+%5Cd%2B5+of&i=1")
        expect(page.locator(".search-total")).to_have_text("49 matches in 1 file")
        page.get_by_role("link", name="25 line 25 of many").click()
        expect(page).to_have_url(re.compile(r"pattern=.*&i=1#L25$"))
        expect(line(page, 25).locator("mark")).to_have_text("line 25 of")
        expect(page.get_by_text("2 of 49")).to_be_visible()
        page.keyboard.press("n")
        expect(page).to_have_url(re.compile("#L35$"))
        page.keyboard.press("p")
        page.keyboard.press("p")
        expect(page).to_have_url(re.compile("#L15$"))
        page.get_by_role("link", name="Back to results").click()
        expect(page.locator(".search-total")).to_have_text("49 matches in 1 file")


# ── large ────────────────────────────────────────────────────────────────────────────────────────


def test_a_huge_file_opens_at_the_match_with_few_lines_in_the_page(pages: Pages) -> None:
    with searching(pages) as site:
        huge = site.running.home.parent / "workspace" / "huge.py"
        with huge.open("w", encoding="utf-8") as file:
            file.writelines(
                f"value_{number} = 'text'  # {'x' * 20}\n" for number in range(1_000_000)
            )
        page = opened(site, "/file/huge.py?pattern=value_765432%5Cb#L765433")
        expect(line(page, 765433).locator("mark")).to_have_text("value_765432")
        expect(line(page, 765433)).to_be_in_viewport()
        expect(page.get_by_text("no colours from line 40,001 on")).to_be_visible()
        assert page.locator("[data-line]").count() < 400
        page.get_by_role("textbox", name="Line").fill("12")
        page.keyboard.press("Enter")
        expect(line(page, 12)).to_contain_text("value_11 =")
        expect(line(page, 12).locator(".tok-string")).to_have_text("'text'")
        page.get_by_role("button", name="Lines 400,001").click()
        expect(line(page, 400_001)).to_contain_text("value_400000 =")


def test_long_lines_wrap_or_scroll_and_say_that_they_are_cut(pages: Pages) -> None:
    with searching(pages, {"long.txt": "short\n" + "word " * 3_000 + "\nend\n"}) as site:
        page = opened(site, "/file/long.txt")
        expect(line(page, 2)).to_contain_text("cut, 15,000 characters in all")
        wrap = page.get_by_role("checkbox", name="Wrap")
        wrap.uncheck()
        low = line(page, 2).bounding_box()
        page.keyboard.press("w")
        expect(wrap).to_be_checked()
        high = line(page, 2).bounding_box()
        assert low
        assert high
        assert high["height"] > 3 * low["height"]
        page.get_by_label("Tab").select_option("8")
        page.reload()
        expect(page.get_by_label("Tab")).to_have_value("8")
        expect(wrap).to_be_checked()


def test_a_match_far_into_a_line_that_is_cut_is_shown_beside_it(pages: Pages) -> None:
    long = "x" * 100_000 + " alpha " + "y" * 100_000
    with searching(pages, {"long.txt": f"one\n{long}\nthree\n"}) as site:
        for size in (WIDE, NARROW):
            page = opened(site, "/file/long.txt?pattern=alpha#L2", size)
            match = page.locator(".code-cut")
            expect(match).to_contain_text("column 100,002 of 200,007")
            expect(match.locator("mark")).to_have_text("alpha")
            expect(match.locator("mark")).to_be_in_viewport()
            assert violations(page) == [], size


# ── for everybody ────────────────────────────────────────────────────────────────────────────────


def test_the_file_view_shuts_nobody_out(pages: Pages) -> None:
    with searching(pages, {"src/code.py": CODE * 30}, {}) as site:
        for size, dark in LOOKS:
            page = opened(site, "/file/src/code.py?pattern=return#L6-L9", size, dark)
            expect(page.locator(".chosen mark")).to_have_text("return")
            expect(page.locator(".tok-keyword").first).to_be_visible()
            assert violations(page) == [], (size, dark)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
