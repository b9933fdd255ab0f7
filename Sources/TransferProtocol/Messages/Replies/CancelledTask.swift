package struct CancelledTask: Codable, Sendable, Equatable {
  package var resumePoint: ResumePoint?

  package init(resumePoint: ResumePoint? = nil) { self.resumePoint = resumePoint }
}
