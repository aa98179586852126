// How the place of the camera is seen, and what of the page that leaves: lines over the picture and
// tools need a camera without distortion.
const element = (id) => document.getElementById(id);

const FISHEYE = { least: 60, most: 240, fov: 180 }; // degrees from top to bottom
const PINHOLE = { least: 10, most: 120 };
const WHY = 'Lines over the picture, selecting and measuring need a camera without distortion';

export class Projection {
  // `on` has: info(), chosen() a photo's number or -1, choose(number), changed(), say(text).
  constructor(camera, on) {
    Object.assign(this, { camera, on, kind: 'pinhole', fisheye: FISHEYE.fov });
    element('projection').oninput = () => this.set(element('projection').value);
    element('fov').oninput = () => {
      const value = Number(element('fov').value);
      if (this.kind === 'fisheye') this.fisheye = value;
      else {
        camera.release();
        camera.fov = value;
      }
      on.changed();
    };
  }

  get isPinhole() { return this.kind === 'pinhole'; }

  // Of the lens of the photo that is chosen.
  get asTaken() { return this.kind === 'photo'; }

  set(kind) {
    const cameras = this.on.info()?.cameras ?? [];
    if (kind === 'photo' && this.on.chosen() < 0) {
      const first = cameras.findIndex((camera) => camera.as_taken);
      if (first >= 0) this.on.choose(first);
    }
    const can = kind !== 'photo' || cameras[this.on.chosen()]?.as_taken;
    if (!can) this.on.say('this photo was taken through a lens that is not rendered');
    this.kind = can ? kind : 'pinhole';
    this.show();
    this.on.changed();
  }

  // Another photo was chosen, or none.
  photoChosen(index) {
    if (this.asTaken && !this.on.info().cameras[index]?.as_taken) this.set('pinhole');
  }

  // What the server is asked beside the pose.
  request() {
    const { kind, camera } = this;
    return {
      fov: kind === 'fisheye' ? this.fisheye : camera.fov,
      projection: kind === 'photo' ? this.on.chosen() : kind,
      focus: camera.distance,
    };
  }

  show() {
    element('projection').value = this.kind;
    element('stage').dataset.projection = this.kind;
    const slider = element('fov');
    const { least, most } = this.kind === 'fisheye' ? FISHEYE : PINHOLE;
    Object.assign(slider, { min: least, max: most });
    slider.disabled = this.kind === 'equirect' || this.asTaken;
    element('projection-note').textContent = this.isPinhole ? '' : `${WHY}.`;
    for (const option of element('projection').options) {
      if (option.value === 'photo') option.hidden = !this.on.info()?.cameras.some((c) => c.as_taken);
    }
    // A panorama is drawn as four images, with tiles each.
    const heat = [...element('channel').options].find((option) => option.value === 'heat');
    heat.disabled = this.kind === 'equirect';
  }

  // What the slider says.
  showAngle() {
    const slider = element('fov');
    const angle = this.request().fov;
    slider.value = angle;
    slider.nextElementSibling.value = slider.disabled ? '' : `${Math.round(angle)}\u00b0`;
  }

  // Why tools do not work; empty if they do.
  get why() { return this.isPinhole ? '' : WHY; }
}
