// The link to the form of a new reward rule.
import { addressOf } from "../router.ts";

/**
 * Returns the link to the form.
 *
 * @param annotation name of the question whose answers the rule reads; empty for thumbs
 * @param rewards rewards of the answers, as the form takes them
 */
export function newRuleAddress(project: string, annotation = "", rewards = ""): string {
  return addressOf("rules", [], { new: project, annotation, rewards });
}
