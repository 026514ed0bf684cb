"""Pages of the site that are not below docs, and links to files that are not pages."""

import os
import re

from mkdocs.structure.files import File

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), ".."))
DOCS = os.path.join(ROOT, "docs")
SOURCE = "https://github.com/toolpost/toolpost/blob/" + os.environ.get("SITE_VERSION", "main") + "/"

# Files of the root that are pages.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}

LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config):
    """Every design note is in the navigation."""
    notes = [{"Overview": "design/README.md"}]
    for name in sorted(os.listdir(os.path.join(DOCS, "design"))):
        if name.endswith(".md") and name != "README.md":
            notes.append("design/" + name)
    for section in config.nav:
        for item in section.get("Explanations", []):
            if isinstance(item, dict) and "Design" in item:
                item["Design"] = notes
    return config


def on_files(files, config):
    """Add the pages of the root, the style sheet and the script of the search."""
    files.append(File.generated(config, "assets/iframe-worker.js", abs_src_path=os.path.join(os.environ["SITE_TOOLS"], "package", "shim", "index.js")))
    for source, page in PAGES.items():
        with open(os.path.join(ROOT, source), encoding="utf-8") as f:
            files.append(File.generated(config, page, content=f.read()))
    files.append(File.generated(config, "site.css", abs_src_path=os.path.join(ROOT, "site", "site.css")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links at pages of the site, or at the source."""
    at = page.file.src_uri
    source = {v: k for k, v in PAGES.items()}.get(at, "docs/" + at)

    def target(match):
        path, anchor = match[2], match[3] or ""
        if "://" in path or path.startswith("mailto:"):
            return match[0]
        full = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if full in PAGES:
            to = PAGES[full]
        elif full.startswith("docs/") and not full.startswith("docs/examples") and files.get_file_from_path(full[5:]):
            to = full[5:]
        elif os.path.exists(os.path.join(ROOT, full)):
            return f"]({SOURCE}{full}{anchor})"
        else:
            return match[0]  # the validation reports it
        return f"]({os.path.relpath(to, os.path.dirname(at) or '.')}{anchor})"

    # Python-Markdown wants an empty line before a list.
    text = LINK.sub(target, markdown)
    return separate_lists(text)


def separate_lists(text):
    """Put an empty line before a list that follows a paragraph, as other readers of Markdown do not need it."""
    out, fenced = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = re.sub(r"^(\s*```\w+) .*$", r"\1", line)  # the name of a test case after the language
        last = out[-1] if out else ""
        if not fenced and re.match(r"(-|\d+\.) ", line) and last.strip() and not re.match(r"\s*(-|\d+\.) |\s{2,}\S", last):
            out.append("")
        out.append(line)
    return "\n".join(out)
