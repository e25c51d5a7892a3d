// The trainer that the configuration names, and the key that it asks for.
import { invalid } from "../../base/domain/service-error.ts";
import { serverKinds } from "../../train/trainer/tinker/server-kinds.ts";
import { readTrainerAddress, type TrainerElsewhere } from "../../train/trainer/tinker/trainer-address.ts";

export interface TrainerSettings {
  readonly trainer: string | null;
  readonly trainerKey: string | null;
}

/** What servers without keys get, which take any and refuse none. */
const anyKey = "tml-hone";

/**
 * Null where this machine trains itself.
 *
 * @throws ServiceError `invalid` for an address that is none, or a key that is missing
 */
export function trainerElsewhere({ trainer, trainerKey }: TrainerSettings): TrainerElsewhere | null {
  if (trainer === null || trainer === "") return null;
  const address = readTrainerAddress(trainer);
  if (trainerKey === null && serverKinds[address.kind].needsKey)
    throw invalid(
      `Servers of the kind ${address.kind} ask for a key: set HONE_TRAINER_KEY to it, or to file:<path> of a file with it.`,
    );
  return { address, apiKey: trainerKey ?? anyKey };
}
