// Says of a constraint whether it is served and why not, and of instances whether an answer under it could say them. Reads
// the constraint exactly as the engine does; needs no tokenizer.
import type { Clock } from "../domain/clock.ts";
import type { Constraint, ConstraintCheck, InstanceCheck } from "../domain/constraint.ts";
import { parseExactJson } from "../domain/text/exact-json.ts";
import { ConstraintRefusal, withinStack } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { accepts, readLanguage, restartFor } from "./language.ts";
import type { Language } from "./language.ts";

/**
 * Checks a constraint.
 *
 * @param instances the JSON of values for a constraint of JSON: each is written with its properties in the schema's order
 *   and without blanks, which the constraint's options must allow; the JSON of texts for any other constraint
 */
export function checkConstraint(
  constraint: Constraint,
  instances: readonly string[],
  { limits, clock }: { readonly limits: GrammarLimits; readonly clock: Clock },
): ConstraintCheck {
  const startMs = clock.monotonicMs();
  const compileMs = (): number => clock.monotonicMs() - startMs;
  let language: Language;
  try {
    language = readLanguage(constraint, limits);
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const { kind, subject, place, message } = error;
    return { refusal: { kind, subject, place, message }, instances: [], notices: [], compileMs: compileMs() };
  }
  const checkedAlone = (instance: string): InstanceCheck => {
    const found = checked(language, instance);
    if (found.limit !== "states") return found;
    // It may be full of what other instances led to, which a request would not be.
    language = readLanguage(constraint, limits);
    return checked(language, instance);
  };
  const { notices } = language;
  return { refusal: null, notices, compileMs: compileMs(), instances: instances.map(checkedAlone) };
}

function checked(language: Language, instance: string): InstanceCheck {
  const { limits, budget, textOf } = language;
  try {
    return withinStack(limits, () => {
      restartFor(budget, instance.length);
      const value = parseExactJson(instance);
      const text = textOf === null ? value : textOf(value);
      return { isAccepted: typeof text === "string" && accepts(language, text), limit: null };
    });
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return { isAccepted: false, limit: error.subject };
  }
}
