// The configured remote trainer: its address and key.
import { invalid } from "../../base/domain/service-error.ts";
import { serverKinds } from "../../train/trainer/tinker/server-kinds.ts";
import { readTrainerAddress, type TrainerElsewhere } from "../../train/trainer/tinker/trainer-address.ts";

export interface TrainerSettings {
  readonly trainer: string | null;
  readonly trainerKey: string | null;
}

/** Placeholder key for servers that accept any key. */
const anyKey = "tml-hone";

/**
 * Returns the configured remote trainer; null if this machine trains.
 *
 * @throws ServiceError `invalid` for an invalid address or a missing key
 */
export function remoteTrainer({ trainer, trainerKey }: TrainerSettings): TrainerElsewhere | null {
  if (trainer === null || trainer === "") return null;
  const address = readTrainerAddress(trainer);
  if (trainerKey === null && serverKinds[address.kind].needsKey)
    throw invalid(
      `Servers of the kind ${address.kind} require a key: set HONE_TRAINER_KEY to it, or to file:<path>, a file with it.`,
    );
  return { address, apiKey: trainerKey ?? anyKey };
}
