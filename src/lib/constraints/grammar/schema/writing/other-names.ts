// Undeclared names that may come next in an object, with the progress after each.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";
import type { NameRule } from "../shapes.ts";
import type { ObjectPlan, ObjectProgress } from "./plan-object.ts";
import { afterOther, canFinishObject, without } from "./plan-object.ts";
import type { Plans } from "./plans.ts";
import type { UsedTexts } from "./used-texts.ts";

/**
 * Undeclared names as they are written, with quotation marks; the goal (requirement) for their values; and the progress
 * after such a property.
 */
export interface OtherName {
  readonly key: Expression;
  readonly goal: Goal;
  readonly after: ObjectProgress;
}

/**
 * Returns the undeclared names that may follow the declared ones.
 *
 * @param used names that must not repeat; null if names may repeat
 * @returns only names whose value can be written and after which the object can be completed
 */
export function otherNames(
  plans: Plans,
  plan: ObjectPlan,
  { progress, used }: { readonly progress: ObjectProgress; readonly used: UsedTexts | null },
): readonly OtherName[] {
  const { isSatisfiable, meanings } = plans;
  const { texts } = meanings;
  const { expressions } = texts.compilation;
  const keyOf = ({ names }: NameRule) => texts.string({ type: "string", body: names, values: null });
  const behind = afterOther(plan, progress);
  const { wants } = progress;
  const wanted = plan.wanted.filter(
    ({ goal, does }) => isSatisfiable(goal) && does.every((want) => wants.includes(want)),
  );
  // Reserves the last unused name that can satisfy the object's only unsatisfied need (a required kind of property).
  // With several needs, there are always enough names.
  const kept = expressions.or(...wanted.map(keyOf));
  const isLast = used !== null && plan.wantCount === 1 && wanted.length > 0 && !used.leaves(kept, 2);
  const others = [
    ...plan.rules.map((rule) => ({
      key: isLast ? expressions.and(keyOf(rule), expressions.not(kept)) : keyOf(rule),
      goal: rule.goal,
      after: behind,
    })),
    ...wanted.map((rule) => ({
      key: keyOf(rule),
      goal: rule.goal,
      after: { ...behind, wants: without(wants, rule.does) },
    })),
  ];
  return others
    .filter(({ goal, after }) => isSatisfiable(goal) && canFinishObject(plan, after, isSatisfiable))
    .filter(({ key }) => used === null || used.leaves(key, 1));
}
