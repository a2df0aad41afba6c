// One tooltip for the whole page. It only ever holds text.
let box: HTMLElement | null = null;

export function showTip(x: number, y: number, lines: string[]): void {
  if (!box) {
    box = document.createElement("div");
    box.className = "tip";
    box.setAttribute("role", "tooltip");
    document.body.append(box);
  }
  box.replaceChildren(
    ...lines.map((line, i) => {
      const p = document.createElement(i === 0 ? "strong" : "span");
      p.textContent = line;
      return p;
    }),
  );
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
  const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
  box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}
