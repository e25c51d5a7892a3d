// Checks that a constraint is refused as expected.
import assert from "node:assert/strict";
import type { RefusalKind } from "../../../../base/domain/constraint.ts";
import { ConstraintRefusal } from "../limits.ts";

/** Runs code that must refuse a constraint with this kind, subject and location. */
export function checkRefusal(
  run: () => unknown,
  [kind, subject, place]: readonly [kind: RefusalKind, subject: string, place: string],
  source: string,
): void {
  assert.throws(run, (error: unknown) => {
    assert.ok(error instanceof ConstraintRefusal, `${source}: ${String(error)}`);
    assert.deepEqual([error.kind, error.subject, error.place], [kind, subject, place], source);
    return true;
  });
}
