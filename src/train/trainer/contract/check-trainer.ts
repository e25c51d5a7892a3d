// The contract suite for trainers. A trainer must do everything that its profile promises, and refuse everything else.
// Tests start from a new adapter.
import { describe } from "node:test";
import { checkCalls } from "./check-calls.ts";
import { checkNumbers } from "./check-numbers.ts";
import { checkStates } from "./check-states.ts";
import type { Loss } from "../trainer.ts";
import type { MakeTrainers } from "./trainers-under-test.ts";

/**
 * Registers the contract's tests under a trainer's name.
 *
 * @param losses losses that the trainer must compute
 */
export function checkTrainer(name: string, make: MakeTrainers, losses: readonly Loss[]): void {
  describe(name, () => {
    checkNumbers(make, losses);
    checkCalls(make);
    checkStates(make);
  });
}
