// Checks constraints for people who write them, in a thread of their own: neither the server's event loop nor an engine
// waits for a check.
import type { Constraint, ConstraintCheck } from "../../../base/domain/constraint.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import { WorkerPool, type TaskOptions } from "../../../base/processes/worker-pool.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";
import type { CheckMeans, CheckTasks } from "./check-tasks.ts";

export interface ConstraintChecker extends Service {
  /**
   * As `checkConstraint` in grammar/.
   *
   * @param base the base model with whose tokens an answer is written: what its tokens stand for is the same each time
   * @throws ServiceError `too_large` where that takes longer than it may; what a pool of workers throws
   */
  check(
    base: { readonly name: string; readonly vocabulary: TokenVocabulary },
    constraint: Constraint,
    instances: readonly string[],
    options?: TaskOptions,
  ): Promise<ConstraintCheck>;
}

export interface CheckerOptions extends CheckMeans {
  readonly seconds: number;
}

export function createConstraintChecker(options: CheckerOptions): ConstraintChecker {
  const { limits } = options;
  const pool = new WorkerPool<CheckTasks, CheckMeans>({
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
        throw error instanceof TaskTimeout ? takesTooLong(options) : error;
      }
    },
  };
}

function takesTooLong({ seconds }: CheckerOptions): ServiceError {
  const message = `Checking this takes longer than ${seconds} s; send fewer or shorter tests.`;
  const faults = [{ location: ["instances"], message, type: "too_large" }];
  return new ServiceError({ code: "too_large", faults });
}
