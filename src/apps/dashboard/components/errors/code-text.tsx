// A message in which text between backticks is shown as code.
import { codeParts } from "./error-text.ts";

export function CodeText({ of }: { readonly of: string }) {
  return (
    <>{codeParts(of).map(({ text, isCode }, index) => (isCode ? <code key={index}>{text}</code> : text))}</>
  );
}
