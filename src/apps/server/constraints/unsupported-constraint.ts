// Result of the constraint check if the model's engine does not support the constraint. The constraint itself is not
// parsed.
import type { Constraint, ConstraintCheck } from "../../../base/domain/constraint.ts";
import type { Engine } from "../../../base/domain/generation.ts";
import { describeMissing, describeOffered } from "../../../inference/chat/missing-features.ts";

/** Returns the refusal of a constraint; null if the engine supports it, or the model is unknown. */
export function unsupportedConstraint(
  constraint: Constraint,
  engine: Pick<Engine, "capabilities"> | undefined,
): ConstraintCheck | null {
  const missing = engine === undefined ? [] : describeMissing(constraint, engine.capabilities);
  if (engine === undefined || missing.length === 0) return null;
  const subject = missing.join(", ");
  const offered = describeOffered(engine.capabilities) || "none";
  const message = `The engine of this model does not support ${subject}; it supports ${offered}.`;
  const refusal = { kind: "not-offered", subject, place: "", message } as const;
  return { refusal, instances: [], notices: [], compileMs: 0 };
}
