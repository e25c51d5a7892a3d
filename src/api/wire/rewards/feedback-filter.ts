// Which feedback a rule reads beside what its terms say: a filter in the language of queries, wherever a body has one.
import { always, type Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { newFindings, refuseFaults } from "../../../base/validation/findings.ts";
import { readExpression } from "../feedback/query/read-expression.ts";

/**
 * Reads a filter; where there is none, it lets every record through.
 *
 * @param place of it in the body
 * @throws ServiceError `invalid` with every fault of shape; `unsupported` with what it asks that there is not
 */
export function readFilter(
  filter: unknown,
  limits: QueryLimits,
  place: readonly string[] = ["filter"],
): Condition {
  if (filter === undefined || filter === null) return always;
  const findings = newFindings("body");
  findings.path.push(...place);
  const { condition, refusals } = readExpression(filter, findings, limits);
  refuseFaults(findings);
  if (refusals.length > 0) throw new ServiceError({ code: "unsupported", faults: refusals });
  return condition;
}
