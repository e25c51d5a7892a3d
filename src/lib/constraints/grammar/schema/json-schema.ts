// Compiles a JSON Schema to a grammar that allows exactly its values. Serializes values in the form that the grammar
// allows, with properties in the schema's order.
import type { ConstraintOptions } from "../../../../base/domain/constraint.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import type { GrammarSymbol } from "../parser/rules.ts";
import type { Compilation } from "../compilation.ts";
import { withDoubles } from "./decimals.ts";
import { SchemaDocument } from "./document.ts";
import type { Goal } from "./goals.ts";
import { knownKeywords } from "./keywords/read-keywords.ts";
import { checkComparable } from "./writing/comparable.ts";
import { jsonStyle } from "./writing/json-style.ts";
import { Meanings } from "./meanings.ts";
import { Plans } from "./writing/plans.ts";
import { orderedText } from "./writing/ordered-text.ts";
import { RuleWriter } from "./writing/write-rules.ts";

export interface SchemaGrammar {
  readonly symbol: GrammarSymbol;
  /** True if at least one value satisfies the schema. */
  readonly hasValues: boolean;
  /** Serializes a value. The properties of each object that satisfies the schema are in the schema's order. */
  readonly textOf: (value: ExactJson) => string;
}

/**
 * Compiles a JSON Schema.
 *
 * @throws ConstraintRefusal for a malformed keyword, a keyword that Hone does not support exactly, or an exceeded
 * limit
 */
export function readJsonSchema(
  schema: ExactJson,
  options: ConstraintOptions,
  compilation: Compilation,
): SchemaGrammar {
  const document = new SchemaDocument(withDoubles(schema));
  const meanings = new Meanings(document, compilation);
  const root: Goal = meanings.goals.of(document.root);
  const plans = new Plans(meanings, root, options);
  checkComparable(plans);
  const writer = new RuleWriter(plans, jsonStyle(compilation, options));
  for (const { keyword, pointer } of document.besideReferences)
    if (knownKeywords.includes(keyword)) compilation.notices.addKeywordBesideReference(keyword, pointer);
  return {
    symbol: writer.value(root),
    hasValues: plans.isSatisfiable(root),
    textOf: (value) => orderedText(plans, root, withDoubles(value)),
  };
}
