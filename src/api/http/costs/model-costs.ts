// Computes the costs in answers. Looks up the base models of trained models, which determine the prices, for a whole
// page of an answer at a time.
import { type Cost, type CountedTokens, costOf } from "../../../base/domain/costs/prices.ts";
import type { UsageRow } from "../../../base/domain/keys/usage.ts";
import type { HttpDependencies } from "../dependencies.ts";

/**
 * Returns a function that computes the cost of tokens of any of these trained models.
 *
 * @param ids ids of at most 100 models
 */
export async function modelCosts(
  ids: readonly string[],
  { models, prices }: Pick<HttpDependencies, "models" | "prices">,
): Promise<(modelId: string, tokens: CountedTokens) => Cost> {
  const found = prices.currency === null ? null : await models.findMany(ids);
  return (modelId, tokens) => costOf(prices, found?.get(modelId)?.baseModel ?? null, tokens);
}

/**
 * Returns the usage with its cost. The usage of a deleted model has no cost, unless all base models have the same
 * prices.
 */
export async function usageCosts(
  rows: readonly UsageRow[],
  { versions, baseModels, prices }: Pick<HttpDependencies, "versions" | "baseModels" | "prices">,
): Promise<readonly (UsageRow & Cost)[]> {
  const bases = new Map(baseModels().map(({ name }) => [name, name as string | null]));
  const findBase = async (model: string): Promise<string | null> => {
    const [entity, project, name, ...more] = model.split("/");
    if (entity === undefined || project === undefined || name === undefined || more.length > 0) return model;
    return (await versions.findByName(entity, project, name))?.baseModel ?? null;
  };
  const costed: (UsageRow & Cost)[] = [];
  for (const row of rows) {
    const { model } = row;
    if (prices.currency !== null && !bases.has(model)) bases.set(model, await findBase(model));
    costed.push({ ...row, ...costOf(prices, bases.get(model) ?? null, row) });
  }
  return costed;
}
