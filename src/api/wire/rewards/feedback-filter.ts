// Reads a filter on feedback, which several kinds of request bodies may contain. It is a query in the feedback query
// language.
import { always, type Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { newFindings, refuseFaults } from "../../../base/validation/findings.ts";
import { readExpression } from "../feedback/query/read-expression.ts";

/**
 * Reads a filter on feedback. An absent filter matches every record.
 *
 * @param place path of the filter in the body
 * @throws ServiceError `invalid` with every malformed part; `unsupported` with every operation that this server lacks
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
