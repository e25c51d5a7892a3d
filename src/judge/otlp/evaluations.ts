// Reads judgements of a model's answer from a span's events `gen_ai.evaluation.result`.
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type { Span } from "./span.ts";

export interface Evaluation {
  readonly name: string;
  readonly payload: JsonObject;
}

const prefix = "gen_ai.evaluation";

/** Returns the evaluations of a span that have a name and a value. */
export function evaluationsOf({ events }: Span): readonly Evaluation[] {
  return events.flatMap(({ name: event, attributes }) => {
    const name = attributes[`${prefix}.name`];
    const [value, label] = [attributes[`${prefix}.score.value`], attributes[`${prefix}.score.label`]];
    if (event !== `${prefix}.result` || typeof name !== "string" || (value ?? label) === undefined) return [];
    const payload: Record<string, Json | undefined> = {
      name,
      value,
      label,
      explanation: attributes[`${prefix}.explanation`],
      response_id: attributes["gen_ai.response.id"],
    };
    const known = Object.entries(payload).filter(([, member]) => member !== undefined);
    // Safe cast: undefined members were left out.
    return [{ name, payload: Object.fromEntries(known) as JsonObject }];
  });
}
