// Grey bars in place of content that is still loading.

const lines = [0, 1, 2, 3, 4];

export function Skeleton() {
  return (
    <div class="skeleton">
      <span class="hidden">Loading …</span>
      {lines.map((line) => (
        <i key={line} />
      ))}
    </div>
  );
}
