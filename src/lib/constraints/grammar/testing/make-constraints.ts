// Creates constraints for tests, with the same default options as a request.
import type { Constraint, ConstraintOptions } from "../../../../base/domain/constraint.ts";
import { exactJsonText } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";

const options: ConstraintOptions = {
  allowsAnyWhitespace: true,
  whitespacePattern: null,
  allowsAdditionalProperties: true,
};

export const regex = (pattern: string): Constraint => ({ kind: "regex", pattern, ...options });

export const choice = (...choices: readonly string[]): Constraint => ({
  kind: "choice",
  choices,
  ...options,
});

export const jsonSchema = (schema: ExactJson, changed: Partial<ConstraintOptions> = {}): Constraint => ({
  kind: "json-schema",
  schema: exactJsonText(schema),
  ...options,
  ...changed,
});

export const grammar = (text: string): Constraint => ({ kind: "grammar", text, ...options });

export const structuralTag = (tag: ExactJson, changed: Partial<ConstraintOptions> = {}): Constraint => ({
  kind: "structural-tag",
  tag: exactJsonText(tag),
  ...options,
  ...changed,
});
