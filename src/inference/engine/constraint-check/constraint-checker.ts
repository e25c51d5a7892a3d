// Checks constraints that users are writing, before any request uses them. Checks run in a separate thread, so that
// neither the server's event loop nor an engine waits for them.
import type { Constraint, ConstraintCheck } from "../../../base/domain/constraint.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { WorkerPool, type TaskOptions } from "../../../base/processes/worker-pool.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";
import type { CheckThreadData, CheckTasks } from "./check-tasks.ts";

export interface ConstraintChecker extends Service {
  /**
   * Runs `checkConstraint` of grammar/ in the thread.
   *
   * @param base base model whose vocabulary is used; each name must always come with the same vocabulary
   * @throws ServiceError `too_large` if the check exceeds its time limit; errors of the worker pool
   */
  check(
    base: { readonly name: string; readonly vocabulary: TokenVocabulary },
    constraint: Constraint,
    instances: readonly string[],
    options?: TaskOptions,
  ): Promise<ConstraintCheck>;
}

export interface CheckerOptions extends CheckThreadData {
  readonly seconds: number;
}

export function createConstraintChecker(options: CheckerOptions): ConstraintChecker {
  const { limits } = options;
  const pool = new WorkerPool<CheckTasks, CheckThreadData>({
    module: new URL("./check-tasks.js", import.meta.url),
    data: { limits },
    workerCount: 1,
    stageMs: [options.seconds * 1000],
    memoryMebibytes: 1024,
  });
  return {
    ...serviceOf("constraint checks", { stop: () => pool.close() }),
    check: async ({ name: base, vocabulary }, constraint, instances, taskOptions) => {
      try {
        return await pool.run("check", { base, vocabulary, constraint, instances }, taskOptions);
      } catch (error) {
        throw error instanceof TaskTimeout ? timeoutError(options) : error;
      }
    },
  };
}

function timeoutError({ seconds }: CheckerOptions): ServiceError {
  const message = `Checking this takes longer than ${seconds} s; send fewer or shorter tests.`;
  const faults = [{ location: ["instances"], message, type: "too_large" }];
  return new ServiceError({ code: "too_large", faults });
}
