// A JSON Schema within a grammar. Its rules have a separate namespace, because a grammar may contain several schemas.
import type { ConstraintOptions } from "../../../../base/domain/constraint.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";
import type { GrammarSymbol } from "../parser/rules.ts";
import { readJsonSchema } from "../schema/json-schema.ts";
import type { Compilation } from "../compilation.ts";

/** Minimum cost of a schema in steps. */
const schemaSteps = 200;

/**
 * Returns the symbol that matches the schema's values; null if no value is valid.
 *
 * @throws ConstraintRefusal that names the position in the grammar and the location in the schema
 */
export function embeddedSchema(
  { schema, position }: { readonly schema: ExactJson; readonly position: number },
  options: ConstraintOptions,
  compilation: Compilation,
): GrammarSymbol | null {
  try {
    compilation.budget.spend(schemaSteps);
    const apart = { ...compilation, rules: compilation.rules.apart() };
    const { symbol, hasValues } = readJsonSchema(schema, options, apart);
    return hasValues ? symbol : null;
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const { kind, subject, place, message } = error;
    throw new ConstraintRefusal({
      kind,
      subject,
      place: `position ${position}${place === "" ? "" : `, ${place}`}`,
      message: `In the JSON Schema at position ${position} of the grammar: ${message}`,
    });
  }
}
