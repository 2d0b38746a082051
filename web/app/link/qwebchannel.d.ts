// Qt's own script, which the desktop shell serves as a module.
export class QWebChannel {
    constructor(transport: object, ready: (channel: { objects: Record<string, any> }) => void);
}
