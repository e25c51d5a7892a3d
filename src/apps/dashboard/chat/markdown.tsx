// Shows Markdown that a model wrote. HTML in the text is shown as text, and pictures as links. The result is sanitized
// too, so that it can contain neither scripts nor styles.
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useMemo } from "preact/hooks";

const allowed = {
  ALLOWED_TAGS: [
    ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a".split(" "),
    ..."table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "start", "title"],
};

const reader = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text === "" ? href : text)}</a>`,
  },
});

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => markdownHtml(text), [text]);
  return <div class="markdown" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />;
}

function markdownHtml(text: string): string {
  return DOMPurify.sanitize(reader.parse(text, { async: false }), allowed);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
