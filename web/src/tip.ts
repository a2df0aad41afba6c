// One tooltip for the whole page. It only ever holds text.
let box: HTMLElement | null = null;
let shownAt = 0; // how far the page was scrolled

export function showTip(x: number, y: number, lines: string[]): void {
  if (!box) {
    box = document.createElement("div");
    box.className = "tip";
    box.setAttribute("role", "tooltip");
    addEventListener("scroll", () => Math.abs(scrollY - shownAt) > 4 && hideTip(), { passive: true }); // what it is about moved
  }
  box.replaceChildren(
    ...lines.map((line, i) => {
      const p = document.createElement(i === 0 ? "strong" : "span");
      p.textContent = line;
      return p;
    }),
  );
  const place = document.fullscreenElement ?? document.body; // nothing outside it is seen
  if (box.parentNode !== place) place.append(box);
  box.hidden = false;
  shownAt = scrollY;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
  const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
  box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}
