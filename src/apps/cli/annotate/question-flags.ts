// Parses a question in the form of a flag's value, such as `tone=kind|neutral|rude: How does it sound?`. It has a name,
// the allowed answers, and a text for annotators.
import { InvalidArgumentError } from "commander";
import type { AnnotationQuestion } from "../../client/api.ts";

/** Forms that a question may have, as text for help and errors. */
export const questionForms =
  "name=a|b|c, name=yes-no, name=1..5, name=number or name=text. Append ? if the answer is optional, and then `: ` and the text of the question";

/**
 * Parses the value of --question.
 *
 * @throws InvalidArgumentError that lists the allowed forms
 */
export function readQuestion(text: string): AnnotationQuestion {
  const match = /^([^=]+)=([^:]*?)(\?)?(?::\s*(.*))?$/s.exec(text.trim());
  const schema = match === null ? null : schemaOf(match[2].trim());
  if (match === null || schema === null)
    throw new InvalidArgumentError(`The question is ${JSON.stringify(text)}; write ${questionForms}.`);
  const [, name = "", , optional, shown] = match;
  return {
    name: name.trim(),
    text: shown === undefined || shown === "" ? name.trim() : shown,
    schema,
    optional: optional !== undefined,
  };
}

function schemaOf(form: string): AnnotationQuestion["schema"] | null {
  const range = /^(-?\d+)\.\.(-?\d+)$/.exec(form);
  if (range !== null) return { type: "integer", minimum: Number(range[1]), maximum: Number(range[2]) };
  if (form === "yes-no") return { type: "boolean" };
  if (form === "number") return { type: "number" };
  if (form === "text") return { type: "string" };
  const choices = form.split("|").map((choice) => choice.trim());
  return choices.length > 1 && !choices.includes("") ? { enum: choices } : null;
}
