// Shows Markdown that a model wrote. HTML in the text is shown as text, and pictures as links. The result is sanitized
// too, so that it can contain neither scripts nor styles.
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useMemo } from "preact/hooks";
import { highlighted } from "./highlight.ts";

const allowed = {
  ALLOWED_TAGS: [
    ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a".split(" "),
    ..."table thead tbody tr th td div button span".split(" "),
  ],
  ALLOWED_ATTR: ["href", "start", "title", "class", "type"],
};

const copyLabel = "Copy";

const reader = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    code: ({ text, lang = "" }) =>
      `<div class="code-block"><button type="button" class="plain">${copyLabel}</button><pre tabindex="0"><code>${highlighted(text, /^\w*/.exec(lang)?.[0] ?? "", escaped)}</code></pre></div>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text === "" ? href : text)}</a>`,
  },
});

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => markdownHtml(text), [text]);
  return (
    <div
      class="markdown"
      dir="auto"
      onClick={({ target }) => {
        if (target instanceof HTMLButtonElement) void copyCode(target);
      }}
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}

/** Copies the code block of a button, and says so on the button. */
async function copyCode(button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(button.nextElementSibling?.textContent ?? "");
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => (button.textContent = copyLabel), 2000);
}

function markdownHtml(text: string): string {
  return DOMPurify.sanitize(reader.parse(text, { async: false }), allowed);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
