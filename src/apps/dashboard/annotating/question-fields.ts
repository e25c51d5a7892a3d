// Questions of a new queue: the kinds of answers that the form offers, and the question that its fields describe.
import type { AnnotationQuestion } from "../../client/api.ts";

/** Kinds of answers, with their names in the form. */
export const answerKinds = {
  "yes-no": "yes or no",
  choices: "one of several choices",
  range: "a whole number in a range",
  number: "a number",
  text: "a text",
} as const;

export type AnswerKind = keyof typeof answerKinds;

export interface QuestionFields {
  readonly name: string;
  readonly text: string;
  readonly kind: AnswerKind;
  /** Choices such as `kind, rude`, or a range such as `1..5`; ignored for other kinds of answers. */
  readonly values: string;
  readonly isOptional: boolean;
}

/**
 * Returns the question that the fields describe.
 *
 * @throws Error if the choices or the range are malformed
 */
export function questionOf({ name, text, kind, values, isOptional }: QuestionFields): AnnotationQuestion {
  return { name, text: text === "" ? name : text, schema: schemaOf[kind](values), optional: isOptional };
}

const schemaOf: { readonly [Kind in AnswerKind]: (values: string) => AnnotationQuestion["schema"] } = {
  "yes-no": () => ({ type: "boolean" }),
  choices: (values) => {
    const choices = values
      .split(/[,|\n]/)
      .map((choice) => choice.trim())
      .filter((choice) => choice !== "");
    if (choices.length < 2) throw new Error(`Give at least two choices, such as kind, neutral, rude.`);
    return { enum: choices };
  },
  range: (values) => {
    const range = /^(-?\d+)\s*(?:\.\.|–|-)\s*(-?\d+)$/.exec(values.trim());
    if (range === null) throw new Error(`The range is ${JSON.stringify(values)}; write it like 1..5.`);
    return { type: "integer", minimum: Number(range[1]), maximum: Number(range[2]) };
  },
  number: () => ({ type: "number" }),
  text: () => ({ type: "string" }),
};
