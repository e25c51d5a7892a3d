// Text of a message: as it is, or formatted as Markdown if the user has chosen this.
import { lazyView } from "../components/lazy-view.tsx";
import { readingMode } from "./reading-mode.ts";

/** Number of characters of a text that are shown until the user asks for the rest. */
const textLengthMax = 20_000;

const Markdown = lazyView(async () => (await import("../chat/markdown.tsx")).Markdown);

/** @param isCode true for a text that is never Markdown, such as JSON */
export function MessageText({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }) {
  const [first, rest] = [text.slice(0, textLengthMax), text.slice(textLengthMax)];
  const part = (shown: string) =>
    readingMode.value === "markdown" && !isCode ? (
      <Markdown text={shown} />
    ) : (
      <div class={isCode ? "said code" : "said"} dir="auto">
        {shown}
      </div>
    );
  return (
    <>
      {part(first)}
      {rest !== "" && (
        <details>
          <summary>{rest.length.toLocaleString("en")} more characters</summary>
          {part(rest)}
        </details>
      )}
    </>
  );
}

/** Thoughts of the model before an answer, which the user opens. */
export function Thoughts({ text }: { readonly text: string }) {
  return (
    <details>
      <summary>Thoughts</summary>
      <MessageText text={text} />
    </details>
  );
}
