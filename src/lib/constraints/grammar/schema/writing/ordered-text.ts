// Serializes a value in the order that the grammar requires. If an object fits a plan, its members are written in the
// order of the plan. If it fits no plan, it violates the schema and keeps its own order.
import { ExactNumber } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson, ExactJsonObject } from "../../../../../base/domain/text/exact-json.ts";
import { itemAt } from "./array-counts.ts";
import type { ArrayPlan } from "./array-counts.ts";
import { doubleDecimal, plainDecimal } from "../decimals.ts";
import { isObject } from "../document.ts";
import type { Goal } from "../goals.ts";
import { startOf, without } from "./plan-object.ts";
import type { ObjectPlan } from "./plan-object.ts";
import type { NameRule } from "../shapes.ts";
import type { Plan, Plans } from "./plans.ts";

export function orderedText(plans: Plans, goal: Goal, value: ExactJson): string {
  return new OrderedTexts(plans).fitting([goal], value) ?? looseText(value);
}

class OrderedTexts {
  readonly #plans: Plans;
  /** Results for arrays and objects, cached by value and goal, because several goals may allow the same value. */
  readonly #known = new Map<ExactJson, Map<Goal, string | null>>();

  constructor(plans: Plans) {
    this.#plans = plans;
  }

  /**
   * Returns the text of a value that fits one of the goals; null if it fits none. Checks names and scalars, nothing
   * else.
   */
  fitting(goals: readonly Goal[], value: ExactJson): string | null {
    for (const goal of goals) {
      const text = typeof value === "object" ? this.#remembered(goal, value) : this.#ofGoal(goal, value);
      if (text !== null) return text;
    }
    return null;
  }

  #remembered(goal: Goal, value: ExactJson): string | null {
    const known = this.#known.get(value) ?? new Map<Goal, string | null>();
    this.#known.set(value, known);
    const text = known.get(goal);
    if (text !== undefined) return text;
    const found = this.#ofGoal(goal, value);
    known.set(goal, found);
    return found;
  }

  #ofGoal(goal: Goal, value: ExactJson): string | null {
    const { budget } = this.#plans.meanings.compilation;
    for (const plan of this.#plans.plans(goal)) {
      budget.spend(1);
      const text = this.#ofPlan(plan, value);
      if (text !== null) return text;
    }
    return null;
  }

  #ofPlan(plan: Plan, value: ExactJson): string | null {
    if (plan.type === "array") return Array.isArray(value) ? this.#ofArray(plan, value) : null;
    if (plan.type === "object") return isObject(value) ? this.#ofObject(plan, value) : null;
    if (Array.isArray(value) || isObject(value)) return null;
    const text = looseText(value);
    const { automaton } = this.#plans.meanings.compilation;
    return automaton.matches(plan.text, new TextEncoder().encode(text)) ? text : null;
  }

  #ofArray(plan: ArrayPlan, value: readonly ExactJson[]): string | null {
    if (value.length < plan.min || value.length > plan.max) return null;
    if (plan.distinct !== null) return looseText(value);
    const items: string[] = [];
    for (const [index, item] of value.entries()) {
      const goals = itemAt(plan, index).map(({ goal }) => goal);
      const text = this.fitting(goals, item);
      if (text === null) return null;
      items.push(text);
    }
    return `[${items.join(",")}]`;
  }

  /** True if the object has a property with a matching name and a fitting value. */
  #hasOne(rule: NameRule, names: ReadonlySet<string>, value: ExactJsonObject): boolean {
    const { texts } = this.#plans.meanings;
    return [...names].some(
      (name) => texts.holds(rule.names, name) && this.fitting([rule.goal], value[name]) !== null,
    );
  }

  #ofObject(plan: ObjectPlan, value: ExactJsonObject): string | null {
    const names = new Set(Object.keys(value));
    if (names.size < plan.min || names.size > plan.max) return null;
    if (plan.declared.some(({ name, isRequired }) => isRequired && !names.has(name))) return null;
    if (!plan.propertyClauses.hold((index) => names.has(plan.declared[index].name))) return null;
    const declared = plan.declared.filter(({ name }) => names.delete(name));
    const { texts } = this.#plans.meanings;
    const wants = startOf(plan).wants;
    const done = plan.wanted.flatMap((rule) => (this.#hasOne(rule, names, value) ? rule.does : []));
    if (without(wants, done).length > 0) return null;
    const rules = [...plan.wanted, ...plan.rules];
    const members: string[] = [];
    const add = (name: string, goals: readonly Goal[]): boolean => {
      const text = this.fitting(goals, value[name]);
      if (text !== null) members.push(`${JSON.stringify(name)}:${text}`);
      return text !== null;
    };
    if (!declared.every(({ name, goal }) => add(name, [goal]))) return null;
    for (const name of names) {
      const goals = rules.filter((rule) => texts.holds(rule.names, name)).map(({ goal }) => goal);
      if (!add(name, goals)) return null;
    }
    return `{${members.join(",")}}`;
  }
}

function looseText(value: ExactJson): string {
  if (typeof value === "number") return doubleDecimal(value);
  if (value instanceof ExactNumber) return plainDecimal(value) ?? value.text;
  if (Array.isArray(value)) return `[${value.map((item: ExactJson) => looseText(item)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${looseText(inner)}`);
  return `{${members.join(",")}}`;
}
