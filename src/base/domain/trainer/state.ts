// A trainer's saved state, as it is stored with a version: a name that only that trainer reads, and which trainer that is.

/** Whoever kept states before their names stood with them. */
const firstTrainer = "embedded";

/** A trainer's state as it is stored: the trainer's name, a colon, and its own word for the state. */
export function storedState(trainer: string, state: string): string {
  return `${trainer}:${state}`;
}

/** What {@link storedState} stored; what older programs stored has no name. */
export function stateOf(stored: string): { readonly trainer: string; readonly state: string } {
  const [, trainer = firstTrainer, state = stored] = /^([a-z][a-z0-9-]*):(.*)$/s.exec(stored) ?? [];
  return { trainer, state };
}

/** The trainer's own word for a stored state; null where there is none, or it is another trainer's. */
export function ownState({ name }: { readonly name: string }, stored: string | null): string | null {
  const kept = stored === null ? null : stateOf(stored);
  return kept?.trainer === name ? kept.state : null;
}
