// Computes the costs of traced calls. Looks up each model that the calls name only once per request.
import type { Caller } from "../../../base/domain/access.ts";
import type { TracedCall } from "../../../base/domain/traces/traced-call.ts";
import { callCostBody, usageIn } from "../../wire/weave/call-costs.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Costs of a call by model. Models that this server does not serve are left out. */
export type CallCosts = Readonly<Record<string, object>>;

/** Maximum number of different models that are looked up for a request. */
const lookedUpMax = 100;

/** Returns a function that computes the costs of a call. */
export function callCosts(
  { directory, prices }: Pick<HttpDependencies, "directory" | "prices">,
  caller: Caller,
): (call: TracedCall) => Promise<CallCosts> {
  const bases = new Map<string, string | null>();
  const baseOf = async (model: string): Promise<string | null> => {
    if (!bases.has(model) && bases.size < lookedUpMax) {
      // A call may name models of other makers, and models that the caller cannot access.
      const found = await directory.find(model, caller).catch(() => null);
      bases.set(model, found?.base ?? null);
    }
    return bases.get(model) ?? null;
  };
  return async ({ end }) => {
    if (prices.currency === null || end === null) return {};
    const costs: [string, object][] = [];
    for (const usage of usageIn(end.summary)) {
      const base = await baseOf(usage.model);
      const body = base === null ? null : callCostBody(usage, prices, base);
      if (body !== null) costs.push([usage.model, body]);
    }
    return Object.fromEntries(costs);
  };
}
