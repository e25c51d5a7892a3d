// Plans for writing the values of goals: the shapes of each goal, prepared for rules. Shapes without values are left
// out, so that no rule is a dead end. The satisfiable goals are a least fixpoint over all goals reachable from the
// root.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";
import type { Meanings } from "../meanings.ts";
import { canFinishArray, startOfArray } from "./array-counts.ts";
import type { ArrayPlan } from "./array-counts.ts";
import { planArray } from "./plan-array.ts";
import { canFinishObject, planObjects, startOf } from "./plan-object.ts";
import type { ObjectPlan } from "./plan-object.ts";
import type { Shape } from "../shapes.ts";

export interface ScalarPlan {
  readonly type: "scalar";
  readonly text: Expression;
}

export type Plan = ScalarPlan | ArrayPlan | ObjectPlan;

export class Plans {
  readonly meanings: Meanings;
  readonly #closesObjects: boolean;
  readonly #plans = new Map<Goal, readonly Plan[]>();
  readonly #satisfiable = new Set<Goal>();

  /**
   * Plans the root and all goals reachable from it.
   *
   * @param root goal of the whole schema
   */
  constructor(meanings: Meanings, root: Goal, options: { readonly allowsAdditionalProperties: boolean }) {
    this.meanings = meanings;
    this.#closesObjects = !options.allowsAdditionalProperties;
    this.#reach(root);
    this.#settle();
  }

  /** True if any value satisfies the goal. */
  isSatisfiable = (goal: Goal): boolean => this.#satisfiable.has(goal);

  /** Returns the plans for the goal's values; an empty list if the goal has no values. */
  plans(goal: Goal): readonly Plan[] {
    return (this.#plans.get(goal) ?? []).filter((plan) => this.#isPossible(plan));
  }

  /** Plans of all goals reachable from the root. */
  get all(): readonly Plan[] {
    return [...this.#plans.values()].flat();
  }

  /** Returns the goals of all items and properties of the goal's arrays and objects. */
  goalsWithin(goal: Goal): readonly Goal[] {
    return this.plans(goal).flatMap(goalsOf);
  }

  #reach(root: Goal): void {
    const waiting = [root];
    for (let goal = waiting.pop(); goal !== undefined; goal = waiting.pop()) {
      if (this.#plans.has(goal)) continue;
      const plans = this.meanings.at(goal, () =>
        this.meanings.shapes(goal).flatMap((shape) => this.#planned(shape)),
      );
      this.#plans.set(goal, plans);
      this.meanings.compilation.budget.spend(plans.length);
      waiting.push(...plans.flatMap(goalsOf));
    }
  }

  #settle(): void {
    const order = [...this.#plans.keys()].reverse();
    for (let before = -1; before < this.#satisfiable.size;) {
      before = this.#satisfiable.size;
      for (const goal of order) {
        if (this.#satisfiable.has(goal)) continue;
        const plans = this.#plans.get(goal) ?? [];
        this.meanings.compilation.budget.spend(plans.length);
        if (plans.some((plan) => this.#isPossible(plan))) this.#satisfiable.add(goal);
      }
    }
  }

  #isPossible(plan: Plan): boolean {
    switch (plan.type) {
      case "scalar":
        return true;
      case "array":
        return canFinishArray(plan, startOfArray(plan), this.isSatisfiable);
      default:
        return canFinishObject(plan, startOf(plan), this.isSatisfiable);
    }
  }

  #planned(shape: Shape): readonly Plan[] {
    const { texts } = this.meanings;
    switch (shape.type) {
      case "array":
        return planArray(this.meanings, shape);
      case "object":
        return planObjects(this.meanings, shape, this.#closesObjects);
      case "null":
        return [{ type: "scalar", text: texts.literal("null") }];
      case "boolean":
        return shape.values.map((value) => ({
          type: "scalar",
          text: texts.literal(String(value)),
        }));
      default: {
        const text = shape.type === "number" ? texts.number(shape) : texts.string(shape);
        return this.meanings.compilation.automaton.isEmpty(text) ? [] : [{ type: "scalar", text }];
      }
    }
  }
}

function goalsOf(plan: Plan): readonly Goal[] {
  switch (plan.type) {
    case "scalar":
      return [];
    case "array":
      return [...plan.items, plan.rest].flat().map(({ goal }) => goal);
    default:
      return [...plan.declared, ...plan.rules, ...plan.wanted].map(({ goal }) => goal);
  }
}
