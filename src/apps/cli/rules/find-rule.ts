// Finds a reward rule by its id, an id prefix, its name, or project/name.
import { isUuid } from "../../../base/domain/random.ts";
import type { RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { findById } from "../names/find-by-id.ts";

/**
 * Returns the reward rule with an id, an id prefix or a name, which may begin with the project and the entity.
 *
 * @throws HoneError for an unknown full id; ServiceError `not_found` if no rule is meant, `invalid` if several may be
 */
export async function findRule(client: Hone, typed: string): Promise<RewardRule> {
  if (isUuid(typed)) return client.rules.get(typed);
  const [name, project, entity] = typed.split("/").toReversed();
  const query = { ...(project !== undefined && { project }), ...(entity !== undefined && { entity }) };
  return findById(typed, client.rules.list(query), {
    noun: "reward rule",
    list: "hone rules",
    isNamed: (rule) => rule.name === name,
  });
}
