// Limits on a query's nesting, operations and literals. They apply while the query is read.
import type { QueryLimits } from "../../../../base/domain/feedback-query/query-limits.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";

/**
 * Remaining budget of one query: levels of nesting, operations, and bytes of literals. The call that first exceeds a
 * limit throws `unsupported`.
 */
export interface QueryBudget {
  /**
   * Called when the reader begins an operation or operand; `leave` is called when it ends. Operations and operands that
   * begin between the two calls count as nested.
   *
   * @returns false if a limit was exceeded earlier, otherwise true
   */
  enter(): boolean;
  leave(): void;
  /**
   * Counts a literal, by its size in bytes.
   *
   * @returns false if a limit was exceeded earlier, otherwise true
   */
  takeLiteral(value: unknown): boolean;
}

export function newQueryBudget({ depthMax, operandsMax, literalBytesMax }: QueryLimits): QueryBudget {
  let depth = 0;
  let operandCount = 0;
  let literalBytes = 0;
  let isOver = false;
  /** Throws only once per query, so that the client gets a single error for all limits. */
  const over = (message: string): never => {
    isOver = true;
    throw new ServiceError({ code: "unsupported", message });
  };
  return {
    enter: () => {
      if (isOver) return false;
      if (depth === depthMax)
        over(`The query is nested more than ${depthMax} deep. Write $and and $or with longer lists instead.`);
      if (operandCount === operandsMax)
        over(`The query has more than ${operandsMax} operations and operands. Ask with several queries.`);
      depth += 1;
      operandCount += 1;
      return true;
    },
    leave: () => {
      depth -= 1;
    },
    takeLiteral: (value) => {
      literalBytes += Buffer.byteLength(JSON.stringify(value));
      if (literalBytes > literalBytesMax && !isOver)
        over(
          `The literals of the query are more than ${literalBytesMax} bytes together. Ask for a part of the text with $contains, or with several queries.`,
        );
      return !isOver;
    },
  };
}
