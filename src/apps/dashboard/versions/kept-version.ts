// Explains why the server kept a version that it was asked to delete. Has no side effects.

/** @param answer the server's answer to the deletion; it lists the versions that were kept */
export function keptReason(
  answer: { readonly pinned_steps: readonly number[]; readonly in_use_steps: readonly number[] },
  step: number,
): string | null {
  if (answer.pinned_steps.includes(step)) return `Version ${step} is pinned. Unpin it to delete it.`;
  if (answer.in_use_steps.includes(step))
    return `Version ${step} is in use. Delete it when the job, learning cycle or rollout has ended.`;
  return null;
}
