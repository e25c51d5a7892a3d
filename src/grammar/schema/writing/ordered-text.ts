// A value written the way its grammar orders it. An object that fits one of several plans takes that one's order; what
// fits none keeps its own, since it is not the schema's anyway.
import type { Json, JsonObject } from "../../../domain/trajectory.ts";
import { itemAt } from "./array-counts.ts";
import type { ArrayPlan } from "./array-counts.ts";
import { plainDecimal } from "../decimals.ts";
import { isObject } from "../document.ts";
import type { Goal } from "../goals.ts";
import type { ObjectPlan } from "./plan-object.ts";
import type { Plan, Plans } from "./plans.ts";

export function orderedText(plans: Plans, goal: Goal, value: Json): string {
  return fittingText(plans, [goal], value) ?? looseText(value);
}

/** The text of a value that fits one of the goals as far as names and scalars go; null for another. */
function fittingText(plans: Plans, goals: readonly Goal[], value: Json): string | null {
  for (const goal of goals) {
    for (const plan of plans.plans(goal)) {
      const text = textOfPlan(plans, plan, value);
      if (text !== null) return text;
    }
  }
  return null;
}

function textOfPlan(plans: Plans, plan: Plan, value: Json): string | null {
  if (plan.type === "array") return Array.isArray(value) ? arrayText(plans, plan, value) : null;
  if (plan.type === "object") return isObject(value) ? objectText(plans, plan, value) : null;
  if (typeof value === "object" && value !== null) return null;
  const text = looseText(value);
  const { automaton } = plans.meanings.workshop;
  return automaton.matches(plan.text, new TextEncoder().encode(text)) ? text : null;
}

function arrayText(plans: Plans, plan: ArrayPlan, value: readonly Json[]): string | null {
  if (value.length < plan.min || value.length > plan.max) return null;
  if (plan.different !== null) return looseText(value);
  const items = value.map((item, index) => {
    const { counted, plain } = itemAt(plan, index);
    return fittingText(plans, [...counted, ...plain], item);
  });
  return items.includes(null) ? null : `[${items.join(",")}]`;
}

function objectText(plans: Plans, plan: ObjectPlan, value: JsonObject): string | null {
  const names = Object.keys(value);
  if (names.length < plan.min || names.length > plan.max) return null;
  if (plan.declared.some(({ name, isRequired }) => isRequired && !names.includes(name))) return null;
  const declared = plan.declared.filter(({ name }) => names.includes(name));
  const others = names.filter((name) => !declared.some((known) => known.name === name));
  const { texts } = plans.meanings;
  const rules = [...(plan.wanted ?? []), ...plan.rules];
  const members = [
    ...declared.map(({ name, goal }) => ({ name, goals: [goal] })),
    ...others.map((name) => ({
      name,
      goals: rules.filter((rule) => texts.holds(rule.names, name)).map(({ goal }) => goal),
    })),
  ].map(({ name, goals }) => {
    const text = fittingText(plans, goals, value[name]);
    return text === null ? null : `${JSON.stringify(name)}:${text}`;
  });
  return members.includes(null) ? null : `{${members.join(",")}}`;
}

function looseText(value: Json): string {
  if (typeof value === "number") return plainDecimal(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => looseText(item)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${looseText(inner)}`);
  return `{${members.join(",")}}`;
}
