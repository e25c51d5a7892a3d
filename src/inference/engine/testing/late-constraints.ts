// Constraints for tests, computed in the caller's thread. Each mask is late: the test decides how many times the loop
// must ask for it.
import type { Constraint } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";
import type { TokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { ConstraintRefusal, type GrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import type {
  ConstraintCursor,
  ConstraintBackend,
  PreparedConstraint,
} from "../token-masks/constraint-backend.ts";

export interface LateConstraintsOptions {
  readonly trie: TokenTrie;
  readonly limits: GrammarLimits;
  /** Returns for each mask how many times it is asked for in vain; Infinity if it never becomes ready. */
  readonly lateness: () => number;
}

export class LateConstraints implements ConstraintBackend {
  readonly #options: LateConstraintsOptions;
  /** Number of cursors that are open. */
  openCount = 0;
  /** Number of constraints that were prepared and have not been released. */
  preparedCount = 0;

  constructor(options: LateConstraintsOptions) {
    this.#options = options;
  }

  async prepare(
    constraint: Constraint,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<PreparedConstraint> {
    await Promise.resolve();
    signal.throwIfAborted();
    const { trie, limits } = this.#options;
    const compiled = refusing(() => new CompiledConstraint(readLanguage(constraint, limits), trie));
    this.preparedCount += 1;
    let isReleased = false;
    return {
      notices: compiled.language.notices,
      open: (tokenIds = []) => this.#open(compiled, tokenIds),
      release: () => {
        if (!isReleased) this.preparedCount -= 1;
        isReleased = true;
      },
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #open(compiled: CompiledConstraint, tokenIds: readonly number[]): ConstraintCursor {
    this.openCount += 1;
    const matcher = compiled.matcher();
    for (const id of tokenIds) refusing(() => matcher.accept(id));
    const allowed = new Uint32Array(compiled.maskWords);
    let questionsLeft = this.#options.lateness();
    let isOpen = true;
    return {
      accept: (tokenId) => {
        refusing(() => matcher.accept(tokenId));
        questionsLeft = this.#options.lateness();
      },
      next: () => {
        if (questionsLeft-- > 0) return null;
        refusing(() => matcher.mask(allowed));
        return { allowed, mayEnd: matcher.mayEnd };
      },
      waitUntil: () => undefined,
      close: () => {
        if (isOpen) this.openCount -= 1;
        isOpen = false;
      },
    };
  }
}

function refusing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    throw new ServiceError({ code: "unsupported", message: error.message });
  }
}
