// Finds a reward rule by id or by project/name.
import { isUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";

/**
 * Returns the reward rule with an id or a name.
 *
 * @throws HoneError for an unknown id; ServiceError `not_found` for an unknown name
 */
export async function findRule(client: Hone, name: string): Promise<RewardRule> {
  if (isUuid(name)) return client.rules.get(name);
  const parts = name.split("/");
  const [project, ruleName] = parts.slice(-2);
  const entity = parts.length === 3 ? { entity: parts[0] } : {};
  if (parts.length === 2 || parts.length === 3)
    for await (const rule of client.rules.list({ project, ...entity }))
      if (rule.name === ruleName) return rule;
  throw new ServiceError({
    code: "not_found",
    message: `There is no reward rule ${JSON.stringify(name)}; give an id or project/name (\`hone rules\` lists them).`,
  });
}
